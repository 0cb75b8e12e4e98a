import type { TextSpan, ViewPart } from "openenv-ts";
import { pictureOf } from "../value/picture.js";
import { Picture } from "../value/picture-view.js";

/** The result of the author's `render`: text nodes and pictures, nothing else. */
export function ViewParts({ parts }: { parts: readonly ViewPart[] }) {
  return (
    <div className="view-parts">
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no names
        <ViewPartShown key={at} part={part} />
      ))}
    </div>
  );
}

function ViewPartShown({ part }: { part: ViewPart }) {
  if (part.kind === "text") return <div className="text">{part.runs.map(renderRun)}</div>;
  const picture = pictureOf(part.src);
  return picture ? <Picture key={picture.src} {...picture} alt={part.alt} /> : <p className="hint">{part.alt}</p>;
}

/** A span of text in the author's tone. */
export function renderRun({ text, tone, mono }: TextSpan, at: number) {
  if (tone === undefined) {
    return (
      <span key={at} className={mono === false ? "ui" : undefined}>
        {text}
      </span>
    );
  }
  return (
    <span key={at} className={isMark(text) ? `mk mk--${tone}` : `tone--${tone}`}>
      {text}
    </span>
  );
}

/** Short text gets a background; longer text gets only a colour. */
function isMark(text: string): boolean {
  return text.length <= LONGEST_MARK && !text.includes("\n");
}

const LONGEST_MARK = 16;
