import { Fragment } from "react";
import type { Diff } from "../../play/diff.js";
import { diffWords, type WordSpan } from "../text/words.js";
import { withoutAnsi } from "./ansi.js";

const MAX_LENGTH = 2000;
/** Kept of the equal text before the first change. */
const KEPT_BEFORE = 80;

interface ChangeListProps {
  diff: Diff;
  /** The names of the two sides; default: before and after. */
  sides?: readonly [string, string];
}

/** One entry per path: the first value above the second, with the words that differ marked. */
export function ChangeList({ diff, sides }: ChangeListProps) {
  return (
    <div className={sides ? "diff diff--ab" : "diff"}>
      {diff.changes.map(({ path, before, after }) => {
        const words = typeof before === "string" && typeof after === "string" ? cutCommon(before, after) : undefined;
        return (
          <Fragment key={path}>
            <div className="path">{path}</div>
            <Side sign={sides?.[0] ?? "−"} word={sides?.[0] ?? "before"} side="a" value={before} words={words} />
            <Side sign={sides?.[1] ?? "+"} word={sides?.[1] ?? "after"} side="b" value={after} words={words} />
          </Fragment>
        );
      })}
    </div>
  );
}

interface SideProps {
  sign: string;
  word: string;
  side: "a" | "b";
  value: unknown;
  words: WordSpan[] | undefined;
}

function Side({ sign, word, side, value, words }: SideProps) {
  if (value === undefined) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return (
    <div className={`row ${side === "a" ? "del" : "add"}`}>
      <b aria-hidden="true">{sign}</b>
      <span>
        <span className="sr">{word}: </span>
        {text === "" ? <span className="muted">empty text</span> : null}
        <bdi>{words ? <Words words={words} side={side} /> : text.slice(0, MAX_LENGTH)}</bdi>
        {!words && text.length > MAX_LENGTH ? "…" : ""}
      </span>
    </div>
  );
}

/** One of two texts, with the words that only it has marked. */
export function Words({ words, side }: { words: readonly WordSpan[]; side: "a" | "b" }) {
  let room = MAX_LENGTH;
  return words
    .filter((span) => span.side === "both" || span.side === side)
    .map(({ text, side: of }, at) => {
      const shown = withoutAnsi(text.slice(0, Math.max(0, room)));
      room -= text.length;
      const cut = room < 0 && room + text.length > 0 ? "…" : "";
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of text have no names
      return of === "both" ? <span key={at}>{shown + cut}</span> : <mark key={at}>{shown + cut}</mark>;
    });
}

/** The words from shortly before the first change on. */
export function cutCommon(before: string, after: string): WordSpan[] {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same++;
  const from = same > 2 * KEPT_BEFORE ? same - KEPT_BEFORE : 0;
  const words = diffWords(before.slice(from, from + 3 * MAX_LENGTH), after.slice(from, from + 3 * MAX_LENGTH));
  return from > 0 ? [{ text: "…", side: "both" }, ...words] : words;
}
