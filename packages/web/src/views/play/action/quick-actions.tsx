import { Button } from "../../../parts/button.js";
import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";

interface QuickActionsProps {
  play: Play;
  shown: PlaySnapshot;
  /** The environment requires a reset before the first step, and there was none. */
  needsReset: boolean;
}

/** The author's action buttons. */
export function QuickActions({ play, shown, needsReset }: QuickActionsProps) {
  const actions = shown.timeline.steps.at(-1)?.view?.actions ?? [];
  if (actions.length === 0) return null;
  const free = isFree(shown) && !needsReset;
  return (
    <div className="quick" role="group" aria-label="Quick actions">
      {actions.map(({ label, action }, at) => (
        <Button
          // biome-ignore lint/suspicious/noArrayIndexKey: two actions may be equal
          key={at}
          look="sm"
          free={free}
          onClick={() => void play.send(action)}
        >
          {label}
        </Button>
      ))}
    </div>
  );
}
