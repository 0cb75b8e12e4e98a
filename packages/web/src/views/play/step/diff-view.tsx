import { stepInWords } from "../../../parts/text/format.js";
import { ChangeList } from "../../../parts/value/changes.js";
import type { Diff } from "../../../play/diff.js";
import type { TimelineStep } from "../../../play/timeline.js";
import { Block } from "./block.js";

/** The paths at which a step differs from the previous one, with the old value above the new one. */
export function DiffView({ diff, before }: { diff: Diff | undefined; before: TimelineStep | undefined }) {
  if (!diff || !before) {
    return (
      <Block title="Changed">
        <p className="hint">This is the first step. There is no earlier step to compare it with.</p>
      </Block>
    );
  }
  return (
    <Block
      title={`Changed since ${stepInWords(before.number)}`}
      hint={`${diff.changes.length} of ${diff.fields} fields`}
    >
      {diff.changes.length === 0 ? <p className="hint">No changes.</p> : <ChangeList diff={diff} />}
    </Block>
  );
}
