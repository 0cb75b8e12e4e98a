import { useState } from "react";
import { count } from "./format.js";
import { describeValue, Value } from "./value.js";

const MOST_ENTRIES = 100;
/** So few are opened at once. */
const FEW_ENTRIES = 2;

/** An object or a list, one line an entry; what is inside an entry is made when it is opened. */
export function Tree({ value, label }: { value: object; label: string }) {
  const [shown, setShown] = useState(MOST_ENTRIES);
  const entries = Object.entries(value);
  return (
    <ul className="tree">
      {entries.slice(0, shown).map(([key, item]) => (
        <li key={key}>
          {isBranch(item) ? (
            <Branch name={key} value={item} label={`${label}.${key}`} startsOpen={entries.length <= FEW_ENTRIES} />
          ) : (
            <>
              <span className="k">{key}:</span> <Value value={item} label={`${label}.${key}`} />
            </>
          )}
        </li>
      ))}
      {entries.length > shown ? (
        <li>
          <button type="button" className="more" onClick={() => setShown(shown + MOST_ENTRIES)}>
            Show more of {count(entries.length, "entry").replace("entrys", "entries")}
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
  startsOpen: boolean;
}

function Branch({ name, value, label, startsOpen }: BranchProps) {
  const [open, setOpen] = useState(startsOpen);
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span className="k">{name}:</span>{" "}
        <span className="muted">{describeValue(value) || count(Object.keys(value).length, "field")}</span>
      </summary>
      {open ? <Value value={value} label={label} /> : null}
    </details>
  );
}

function isBranch(item: unknown): item is object {
  return typeof item === "object" && item !== null && Object.keys(item).length > 0;
}
