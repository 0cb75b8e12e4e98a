import { type ReactNode, useMemo } from "react";
import { lazily } from "../loading/lazily.js";
import { Text } from "../text/text.js";
import { hasAnsi, parseAnsi } from "./ansi.js";
import { parseJson, textKindOf } from "./rendering.js";
import { Value } from "./value.js";

const Markdown = lazily("The text", () => import("./markdown.js"));

/** Longer Markdown would block the page; it is shown as text. */
const MAX_MARKDOWN = 40_000;

interface RichTextProps {
  text: string;
  label: string;
  prose: boolean;
}

/** A text in the form that it has: of a terminal, JSON, Markdown, or plain. */
export function RichText({ text, label, prose }: RichTextProps) {
  const kind = useMemo(() => (hasAnsi(text) ? "ansi" : textKindOf(text)), [text]);
  const value = useMemo(() => (kind === "json" ? parseJson(text) : undefined), [kind, text]);
  if (kind === "ansi") return <Text text={text} render={renderAnsi} />;
  if (value) return <Value value={value} label={label} />;
  if (kind === "markdown" && text.length <= MAX_MARKDOWN) return <Markdown text={text} />;
  return <Text text={text} prose={prose} />;
}

function renderAnsi(text: string): ReactNode {
  return parseAnsi(text).map(({ text: words, look }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of text have no names
    <span key={at} className={look}>
      {words}
    </span>
  ));
}
