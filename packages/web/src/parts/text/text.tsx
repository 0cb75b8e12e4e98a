import { type ReactNode, useState } from "react";
import { Icon } from "../icon.js";
import { count } from "./format.js";

/** Longer texts are collapsed. */
const FOLD_LENGTH = 480;
const FOLD_LINES = 12;
/** Longer texts are never shown in full. */
const MAX_LENGTH = 200_000;

interface TextProps {
  text: string;
  /** For reading, in the font of the page. */
  prose?: boolean;
  /** Draws the part that is shown; default: as it is. */
  render?(shown: string): ReactNode;
}

/** Text of an environment. Markup in it is shown as text. */
export function Text({ text, prose = false, render }: TextProps) {
  const [open, setOpen] = useState(false);
  if (text === "") return <span className="muted">empty text</span>;
  const isOneLine = prose || (text.length <= 60 && !text.includes("\n"));
  const long = text.length > FOLD_LENGTH || text.split("\n", FOLD_LINES + 1).length > FOLD_LINES;
  const folded = long && !open;
  const shown = folded ? text.slice(0, FOLD_LENGTH) : text.slice(0, MAX_LENGTH);
  return (
    <>
      <div
        className={`text ${folded ? "text--fold" : ""} ${isOneLine ? "text--line" : ""} ${prose ? "text--prose" : ""}`}
      >
        <span>{render ? render(shown) : shown}</span>
      </div>
      {long ? (
        <button type="button" className="more" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : `Show all ${count(text.length, "character")}`}
          <Icon name={open ? "up" : "down"} />
        </button>
      ) : null}
      {open && text.length > MAX_LENGTH ? (
        <p className="hint">
          Only the first {MAX_LENGTH.toLocaleString("en")} characters are shown. Export the timeline to have all of
          them.
        </p>
      ) : null}
    </>
  );
}
