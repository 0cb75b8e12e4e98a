import { useState } from "react";
import { count } from "../text/format.js";
import type { TableShape } from "./table.js";

const FIRST_ROWS = 20;
const MORE_ROWS = 100;

/** A list of objects, one row each. */
export function Table({ shape: { columns, rows }, label }: { shape: TableShape; label: string }) {
  const [shown, setShown] = useState(FIRST_ROWS);
  const left = rows.length - shown;
  return (
    <>
      <div className="table-wrap value-table" tabIndex={0} role="region" aria-label={`${label}, scrolls sideways`}>
        <table>
          <thead>
            <tr>
              {columns.map(({ name, isNumber }) => (
                <th key={name} className={isNumber ? "num" : undefined} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no names
              <tr key={at}>
                {columns.map(({ name, isNumber }) => (
                  <td key={name} className={isNumber ? "num" : undefined}>
                    <bdi>{Object.hasOwn(row, name) ? String(row[name]) : ""}</bdi>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {left > 0 ? (
        <button type="button" className="more" onClick={() => setShown(shown + MORE_ROWS)}>
          Show {left > MORE_ROWS ? `the next ${MORE_ROWS} of` : ""} {count(left, "more row")}
        </button>
      ) : null}
    </>
  );
}
