import { useId, useState } from "react";
import type { SchemaBody } from "../../../../openenv/src/protocol/http.js";
import type { JsonObject } from "../../../../openenv/src/protocol/messages.js";
import { count } from "../../parts/format.js";
import { Json } from "../../parts/json.js";
import { type Tab, Tabs } from "../../parts/tabs.js";
import { CopyText } from "./copy-text-button.js";
import { fieldsOf } from "./schema-rows.js";
import { ToolList } from "./tool-table.js";

type Part = "action" | "observation" | "state" | "tools" | "json";

/** The schemas of the server as tables, and as they are. */
export function SchemaCard({ schema }: { schema: SchemaBody }) {
  const [selected, setSelected] = useState<Part>("action");
  const panel = useId();
  const { tools = [] } = schema;
  const tabs: Tab<Part>[] = [
    { name: "action", label: "Action" },
    { name: "observation", label: "Observation" },
    { name: "state", label: "State" },
    ...(tools.length > 0 ? [{ name: "tools", label: "Tools" } as const] : []),
    { name: "json", label: "JSON Schema" },
  ];
  return (
    <section className="card" aria-labelledby="schemas-h">
      <header className="card__head">
        <h2 id="schemas-h">Schemas</h2>
        <div className="end">
          <CopyText text={JSON.stringify(schema, null, 2)} label="Copy JSON Schema" quiet />
        </div>
      </header>
      <Tabs<Part> label="Schema" tabs={tabs} selected={selected} onSelect={setSelected} panel={panel} />
      <div id={panel} role="tabpanel" aria-labelledby={`${panel}-${selected}`}>
        {selected === "json" ? (
          <div className="pad schema-json" tabIndex={0} role="region" aria-label="JSON Schema">
            <Json value={schema} />
          </div>
        ) : selected === "tools" ? (
          <ToolList tools={tools} />
        ) : (
          <FieldTable schema={schema[selected]} />
        )}
      </div>
    </section>
  );
}

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
