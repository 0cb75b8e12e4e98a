import { Fragment } from "react";
import type { Diff } from "../../../play/diff.js";
import type { TimelineStep } from "../../../play/timeline.js";
import { Block } from "./block.js";

const MAX_LENGTH = 2000;

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
      title={`Changed since ${before.kind === "reset" ? "the reset" : `step ${before.number}`}`}
      hint={`${diff.changes.length} of ${diff.fields} fields`}
    >
      {diff.changes.length === 0 ? <p className="hint">No changes.</p> : <ChangeList diff={diff} />}
    </Block>
  );
}

/** One entry per path. */
export function ChangeList({ diff }: { diff: Diff }) {
  return (
    <div className="diff">
      {diff.changes.map(({ path, before, after }) => (
        <Fragment key={path}>
          <div className="path">{path}</div>
          <Side sign="−" word="before" value={before} other={after} />
          <Side sign="+" word="after" value={after} other={before} />
        </Fragment>
      ))}
    </div>
  );
}

interface SideProps {
  sign: string;
  word: "before" | "after";
  value: unknown;
  other: unknown;
}

function Side({ sign, word, value, other }: SideProps) {
  if (value === undefined) return null;
  const text = typeof value === "string" ? withoutCommon(value, other) : JSON.stringify(value);
  return (
    <div className={`row ${word === "after" ? "add" : "del"}`}>
      <b aria-hidden="true">{sign}</b>
      <span>
        <span className="sr">{word}: </span>
        {text === "" ? <span className="muted">empty text</span> : <bdi>{text.slice(0, MAX_LENGTH)}</bdi>}
        {text.length > MAX_LENGTH ? "…" : ""}
      </span>
    </div>
  );
}

/** The rest of the first text after a long common prefix, with a little context. */
function withoutCommon(text: string, other: unknown): string {
  if (typeof other !== "string") return text;
  let same = 0;
  while (same < text.length && text[same] === other[same]) same++;
  const from = same > 2 * KEPT_BEFORE ? same - KEPT_BEFORE : 0;
  const rest = text.slice(from);
  return from > 0 ? `…${rest.trim() === "" ? " (ends here)" : rest}` : rest;
}

const KEPT_BEFORE = 80;
