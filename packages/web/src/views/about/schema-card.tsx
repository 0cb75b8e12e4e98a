import type { JsonObject, SchemaBody } from "openenv-ts/protocol";
import { useId, useState } from "react";
import { type Tab, Tabs } from "../../parts/tabs.js";
import { Json } from "../../parts/value/json.js";
import { CopyText } from "./copy-text-button.js";
import { FieldTable } from "./field-table.js";
import { variantsOf } from "./schema-rows.js";

type Part = "action" | "observation" | "state" | "tools" | "json";

/** The schemas of the server as tables, and as JSON Schema. */
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
          <Tables
            tables={tools.map(({ name, description, input_schema }) => ({ name, description, schema: input_schema }))}
            empty="This tool takes no arguments."
          />
        ) : (
          <PartTable schema={schema[selected]} />
        )}
      </div>
    </section>
  );
}

/** The fields of a schema, or those of each variant of a union. */
function PartTable({ schema }: { schema: JsonObject }) {
  const variants = variantsOf(schema);
  if (variants === undefined) return <FieldTable schema={schema} />;
  const tables = variants.map((variant) => ({ ...variant, description: String(variant.schema["description"] ?? "") }));
  return <Tables tables={tables} empty="No fields." />;
}

/** Several schemas with their names, such as the tools of the environment and their arguments. */
function Tables({
  tables,
  empty,
}: {
  tables: { name: string; description: string; schema: JsonObject }[];
  empty: string;
}) {
  return (
    <ul className="tool-list">
      {tables.map(({ name, description, schema }) => (
        <li key={name}>
          <h3 className="mono">{name}</h3>
          {description ? <p>{description}</p> : null}
          <FieldTable schema={schema} empty={empty} />
        </li>
      ))}
    </ul>
  );
}
