import type { Diff } from "../../play/diff.js";
import type { Step } from "../../play/timeline.js";
import { Block } from "./block.js";

const MOST_LENGTH = 2000;

/** The places where a step differs from the one before, the old value above the new. */
export function DiffView({ diff, before }: { diff: Diff | undefined; before: Step | undefined }) {
  if (!diff || !before) {
    return (
      <Block title="Changed">
        <p className="hint">This is the first step: there is none before it.</p>
      </Block>
    );
  }
  return (
    <Block
      title={`Changed since ${before.kind === "reset" ? "the reset" : `step ${before.number}`}`}
      hint={`${diff.changes.length} of ${diff.fields} fields`}
    >
      {diff.changes.length === 0 ? <p className="hint">Nothing: both are equal.</p> : <ChangeList diff={diff} />}
    </Block>
  );
}

/** One entry a place. */
export function ChangeList({ diff }: { diff: Diff }) {
  return (
    <div className="diff">
      {diff.changes.map(({ path, before, after }) => (
        <div key={path}>
          <div className="path">{path}</div>
          <Side sign="−" word="before" value={before} />
          <Side sign="+" word="after" value={after} />
        </div>
      ))}
    </div>
  );
}

function Side({ sign, word, value }: { sign: string; word: string; value: unknown }) {
  if (value === undefined) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <div className={`row ${word === "after" ? "add" : "del"}`}>
      <b aria-hidden="true">{sign}</b>
      <span>
        <span className="sr">{word}: </span>
        {text === "" ? <span className="muted">empty text</span> : text.slice(0, MOST_LENGTH)}
        {text.length > MOST_LENGTH ? "…" : ""}
      </span>
    </div>
  );
}
