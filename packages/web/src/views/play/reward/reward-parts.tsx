import { isObject } from "openenv-ts/internal";
import { formatReward } from "../../../parts/text/format.js";
import type { TimelineStep } from "../../../play/timeline.js";
import { Block } from "../step/block.js";

const MAX_SIGNALS = 50;

/** The components of a reward, if the environment reports them. */
export function RewardParts({ step }: { step: TimelineStep }) {
  const [where, signals] = findSignals(step);
  if (signals.length === 0) return null;
  const most = Math.max(1, ...signals.map(([, value]) => Math.abs(value)));
  return (
    <Block title="Reward" hint={where}>
      {signals.map(([name, value]) => (
        <div className="meter" key={name}>
          <span className="mono clip">{name}</span>
          <svg className="meter__bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect width="100" height="6" className="meter__rail" />
            <rect width={(100 * Math.abs(value)) / most} height="6" className="meter__fill" />
          </svg>
          <span className="num">{formatReward(value)}</span>
        </div>
      ))}
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
    const signals = Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === "number");
    return [where, signals.slice(0, MAX_SIGNALS)];
  }
  return ["", []];
}
