import { isFree, type Play, type PlaySnapshot } from "../../../play/play.js";

interface QuickActionsProps {
  play: Play;
  shown: PlaySnapshot;
  /** The environment answers no step before a reset, and there was none. */
  needsReset: boolean;
}

/** The author's own buttons: an action at one click. */
export function QuickActions({ play, shown, needsReset }: QuickActionsProps) {
  const actions = shown.timeline.steps.at(-1)?.view?.actions ?? [];
  if (actions.length === 0) return null;
  const free = isFree(shown) && !needsReset;
  return (
    <div className="quick" role="group" aria-label="Quick actions">
      {actions.map(({ label, action }, at) => (
        <button
          type="button"
          // biome-ignore lint/suspicious/noArrayIndexKey: two may be the same
          key={at}
          className="btn btn--sm"
          aria-disabled={free ? undefined : true}
          onClick={() => free && void play.send(action)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
