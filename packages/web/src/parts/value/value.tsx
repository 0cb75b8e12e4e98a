import { useMemo, useState } from "react";
import { Icon } from "../icon.js";
import { count } from "../text/format.js";
import { Chat } from "./chat-view.js";
import { Json } from "./json.js";
import { pictureOf, soundOf } from "./picture.js";
import { Picture, Sound } from "./picture-view.js";
import { renderingOf } from "./rendering.js";
import { RichText } from "./rich-text.js";
import { Table } from "./table-view.js";
import { Tree } from "./tree.js";

const FIRST_ITEMS = 20;
const MORE_ITEMS = 100;

interface ValueProps {
  value: unknown;
  /** Accessible name of a picture, a sound or a table. */
  label: string;
  /** Nesting depth. */
  depth?: number;
  /** Text is for reading, in the font of the page. */
  prose?: boolean;
}

/** Renders a value by its content: text, Markdown, a terminal's colors, a picture, a sound, a table, messages, or a tree. */
export function Value({ value, label, depth = 0, prose = false }: ValueProps) {
  if (typeof value === "string") {
    const picture = pictureOf(value);
    if (picture) return <Picture key={picture.src} {...picture} alt={label} />;
    const sound = soundOf(value);
    return sound ? <Sound {...sound} label={label} /> : <RichText text={value} label={label} prose={prose} />;
  }
  if (typeof value !== "object" || value === null) return <span className="mono">{String(value)}</span>;
  return <Structure value={value} label={label} depth={depth} prose={prose} />;
}

function Structure({ value, label, depth, prose }: Required<ValueProps> & { value: object }) {
  const rendering = useMemo(() => renderingOf(value), [value]);
  switch (rendering.kind) {
    case "parts":
      return rendering.parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no names
        <Value key={at} value={part} label={label} depth={depth} prose={prose} />
      ));
    case "chat":
      return <Chat messages={rendering.messages} label={label} />;
    case "table":
      return <Table shape={rendering.shape} label={label} />;
    case "list":
      return <LongList items={rendering.items} />;
    case "json":
      return <Json value={value} bare />;
    default:
      return <Tree value={value} label={label} depth={depth} />;
  }
}

/** The type and size next to the name of a value, if useful. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") {
    const media = pictureOf(value) ?? soundOf(value);
    if (media) return media.type;
    return value.length > 200 ? count(value.length, "character") : "";
  }
  if (Array.isArray(value)) {
    const noun = value.length > 0 && value.every((item) => typeof item === "number") ? "number" : "item";
    return count(value.length, noun);
  }
  return "";
}

function LongList({ items }: { items: readonly unknown[] }) {
  const [shown, setShown] = useState(FIRST_ITEMS);
  const left = items.length - shown;
  return (
    <>
      <p className="mono list">
        <span className="muted">[</span>
        <bdi>
          {items
            .slice(0, shown)
            .map((item) => JSON.stringify(item))
            .join(", ")}
        </bdi>
        <span className="muted">{left > 0 ? ", …]" : "]"}</span>
      </p>
      {left > 0 ? (
        <button type="button" className="more" onClick={() => setShown(shown + MORE_ITEMS)}>
          Show {left > MORE_ITEMS ? `the next ${MORE_ITEMS}` : `the other ${left}`}
          <Icon name="down" />
        </button>
      ) : null}
    </>
  );
}
