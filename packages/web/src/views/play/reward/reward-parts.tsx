import { isObject } from "openenv-ts/internal";
import { SignedBars } from "../../../parts/signed-bars.js";
import type { TimelineStep } from "../../../play/timeline.js";
import { Block } from "../step/block.js";

/** The components of a reward, if the environment reports them. */
export function RewardParts({ step }: { step: TimelineStep }) {
  const [where, signals] = findSignals(step);
  if (signals.length === 0) return null;
  return (
    <Block title="Reward" hint={where}>
      <SignedBars parts={signals} total={step.reward} />
    </Block>
  );
}

function findSignals({ metadata, observation }: TimelineStep): [where: string, signals: [string, number][]] {
  const info = observation?.["info"];
  const own = observation?.["metadata"];
  for (const [where, value] of [
    ["metadata.reward_signals", metadata?.["reward_signals"]],
    ["metadata.reward_signals", isObject(own) ? own["reward_signals"] : undefined],
    ["info.reward_signals", isObject(info) ? info["reward_signals"] : undefined],
  ] as const) {
    if (!isObject(value)) continue;
    return [where, Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === "number")];
  }
  return ["", []];
}
