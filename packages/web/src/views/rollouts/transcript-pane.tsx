import { Icon } from "../../parts/icon.js";

interface TranscriptPaneProps {
  id: string;
  step: number | null;
  /** The address of the table, for an episode on a page of its own. */
  back: string | null;
}

/** One episode. */
export function TranscriptPane({ id, back }: TranscriptPaneProps) {
  return (
    <div className="pad">
      {back === null ? null : (
        <a href={back}>
          <Icon name="left" /> Rollouts
        </a>
      )}
      <h2 className="mono">{id}</h2>
    </div>
  );
}
