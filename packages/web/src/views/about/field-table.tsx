import type { JsonObject } from "openenv-ts/protocol";
import { count } from "../../parts/text/format.js";
import { fieldsOf } from "./schema-rows.js";

/** The fields of one schema. */
export function FieldTable({ schema, empty = "It has no fields." }: { schema: JsonObject; empty?: string }) {
  const rows = fieldsOf(schema);
  if (rows.length === 0) return <p className="pad muted">{empty}</p>;
  return (
    <div
      className="table-wrap"
      tabIndex={0}
      role="region"
      aria-label={`${count(rows.length, "field")}, scrolls sideways`}
    >
      <table className="wrap fields">
        <thead>
          <tr>
            <th>Field</th>
            <th>Type</th>
            <th>Default</th>
            <th className="fields__text">Description</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ path, type, preset, description }) => (
            <tr key={path}>
              <td className="mono nowrap">{path}</td>
              <td className="mono">{type}</td>
              <td className="mono">{preset}</td>
              <td>{description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
