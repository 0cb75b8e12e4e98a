import { useState } from "react";
import { Icon } from "../icon.js";
import { count } from "../text/format.js";
import { Text } from "../text/text.js";
import { sizeOf } from "./entries.js";
import { Json } from "./json.js";
import { pictureOf } from "./picture.js";
import { Picture } from "./picture-view.js";
import { Tree } from "./tree.js";

/** Objects and lists that are written out at once, in characters of JSON. */
const WRITTEN_OUT = 600;
const LONG_TEXT = 160;
const FIRST_ITEMS = 20;
const MORE_ITEMS = 100;

interface ValueProps {
  value: unknown;
  /** Names it where it has no words of its own: a picture. */
  label: string;
  /** How many trees it stands in. */
  depth?: number;
}

/** A value as what it is: text as text, a picture as a picture, the rest as a tree. */
export function Value({ value, label, depth = 0 }: ValueProps) {
  if (typeof value === "string") {
    const picture = pictureOf(value);
    return picture ? <Picture key={picture.src} {...picture} alt={label} /> : <Text text={value} />;
  }
  if (typeof value !== "object" || value === null) return <span className="mono">{String(value)}</span>;
  if (Array.isArray(value) && value.length > FIRST_ITEMS && value.every(isShort)) return <LongList items={value} />;
  if (isSmall(value)) return <Json value={value} bare />;
  return <Tree value={value} label={label} depth={depth} />;
}

/** What stands beside the name of a value: its kind and size, where they are worth telling. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") {
    const picture = pictureOf(value);
    if (picture) return picture.type;
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

function isShort(item: unknown): boolean {
  return typeof item === "string" ? item.length <= 40 && !pictureOf(item) : typeof item !== "object" || item === null;
}

/** Looks at no more than it must: a value may be of any size. */
function isSmall(value: object): boolean {
  let budget = WRITTEN_OUT;
  const visit = (item: unknown, depth: number): void => {
    budget -= typeof item === "string" ? item.length + 2 : 6;
    // Text of several lines is read as text, not between quotes, and a picture is looked at.
    if (typeof item === "string" && (item.length > LONG_TEXT || item.trim().includes("\n") || pictureOf(item)))
      budget = -1;
    if (budget < 0 || typeof item !== "object" || item === null) return;
    if (depth > 4 || sizeOf(item) > WRITTEN_OUT) budget = -1;
    if (budget < 0) return;
    for (const [key, inner] of Object.entries(item)) {
      budget -= key.length;
      visit(inner, depth + 1);
      if (budget < 0) return;
    }
  };
  visit(value, 0);
  return budget >= 0;
}
