import type { SchemaBody } from "openenv-ts/protocol";
import { useId, useState } from "react";
import { type Tab, Tabs } from "../../parts/tabs.js";
import { Json } from "../../parts/value/json.js";
import { CopyText } from "./copy-text-button.js";
import { FieldTable } from "./field-table.js";

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
          <ToolTable tools={tools} />
        ) : (
          <FieldTable schema={schema[selected]} />
        )}
      </div>
    </section>
  );
}

/** The tools that the environment declares, and what each takes. */
function ToolTable({ tools }: { tools: NonNullable<SchemaBody["tools"]> }) {
  return (
    <ul className="tool-list">
      {tools.map(({ name, description, input_schema }) => (
        <li key={name}>
          <h3 className="mono">{name}</h3>
          {description ? <p>{description}</p> : null}
          <FieldTable schema={input_schema} empty="This tool takes no arguments." />
        </li>
      ))}
    </ul>
  );
}
