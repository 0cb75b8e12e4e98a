import { formatReward } from "../../parts/text/format.js";
import type { PlaySnapshot } from "../../play/play.js";

/** Tells a screen reader what came back; errors are told where they are shown. */
export function Announcer({ shown }: { shown: PlaySnapshot }) {
  const last = shown.timeline.steps.at(-1);
  const words = !last
    ? ""
    : last.failure
      ? last.kind === "reset"
        ? "The reset failed"
        : `Step ${last.number} failed`
      : last.kind === "reset"
        ? `Episode ${last.episode + 1} started`
        : `Step ${last.number}, reward ${formatReward(last.reward)}, ${last.done ? "done" : "not done"}`;
  return (
    <p className="sr" role="status" id="announcer">
      {words}
    </p>
  );
}
