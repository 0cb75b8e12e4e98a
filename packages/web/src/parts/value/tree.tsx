import { useState } from "react";
import { count } from "../text/format.js";
import { firstEntries, sizeOf } from "./entries.js";
import { describeValue, Value } from "./value.js";

const MAX_ENTRIES = 100;
/** Opened automatically up to this size, and up to this depth. */
const FEW_ENTRIES = 2;
const OPEN_DEPTH = 4;

/** An object or a list, one line per entry. The content of an entry is rendered when it is opened. */
export function Tree({ value, label, depth = 0 }: { value: object; label: string; depth?: number }) {
  const [shown, setShown] = useState(MAX_ENTRIES);
  const size = sizeOf(value);
  return (
    <ul className="tree">
      {firstEntries(value, shown).map(([key, item]) => (
        <li key={key}>
          {isBranch(item) ? (
            <Branch
              name={key}
              value={item}
              label={`${label}.${key}`}
              depth={depth + 1}
              startsOpen={size <= FEW_ENTRIES && depth < OPEN_DEPTH}
            />
          ) : (
            <>
              <span className="k">
                <bdi>{key}</bdi>:
              </span>{" "}
              <Value value={item} label={`${label}.${key}`} />
            </>
          )}
        </li>
      ))}
      {size > shown ? (
        <li>
          <button type="button" className="more" onClick={() => setShown(shown + MAX_ENTRIES)}>
            Show more of {count(size, "entry").replace("entrys", "entries")}
          </button>
        </li>
      ) : null}
    </ul>
  );
}

interface BranchProps {
  name: string;
  value: object;
  label: string;
  depth: number;
  startsOpen: boolean;
}

function Branch({ name, value, label, depth, startsOpen }: BranchProps) {
  const [open, setOpen] = useState(startsOpen);
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span className="k">
          <bdi>{name}</bdi>:
        </span>{" "}
        <span className="muted">{describeValue(value) || count(sizeOf(value), "field")}</span>
      </summary>
      {open ? <Value value={value} label={label} depth={depth} /> : null}
    </details>
  );
}

function isBranch(item: unknown): item is object {
  return typeof item === "object" && item !== null && sizeOf(item) > 0;
}
