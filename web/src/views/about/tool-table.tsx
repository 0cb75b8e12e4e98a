import type { SchemaBody } from "../../../../openenv/src/protocol/http.js";
import { FieldTable } from "./field-table.js";

/** The tools that the environment declares, and what each takes. */
export function ToolTable({ tools }: { tools: NonNullable<SchemaBody["tools"]> }) {
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
