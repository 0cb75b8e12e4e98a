import type { ColumnSource, SchemaElement } from "hyparquet-writer";
import type { RowWriter } from "./row-file.js";

/**
 * Types of columns. `json-list` is a list of JSON values, which the Python package `datasets` (4.7 and newer) shows as
 * objects; `messages` is a list of structures, with the arguments of a call as text.
 */
export type ColumnType = "string" | "integer" | "number" | "messages" | "json-list";

/** Rows are written in groups of about this size, which is what has to fit into the memory. */
const GROUP_BYTES = 16 << 20;
const GROUP_ROWS = 1000;

/** Loads the library for Parquet, only when a file is written. */
export async function parquetWriter(columns: Record<string, ColumnType>): Promise<RowWriter> {
  const { fileWriter, ParquetWriter } = await import("hyparquet-writer");
  return (path) => {
    const file = new ParquetWriter({ writer: fileWriter(path), schema: schemaOf(columns) });
    const rows: Record<string, unknown>[] = [];
    let size = 0;
    const flush = () => {
      const columnData: ColumnSource[] = Object.entries(columns).map(([name, type]) => {
        const data = rows.map(({ [name]: value = null }) =>
          type === "integer" && value !== null ? BigInt(value as number) : value,
        );
        return { name, data };
      });
      if (rows.length > 0) file.write({ columnData, rowGroupSize: rows.length });
      rows.length = 0;
      size = 0;
    };
    return {
      write: (row, bytes) => {
        rows.push(row);
        size += bytes;
        if (rows.length >= GROUP_ROWS || size >= GROUP_BYTES) flush();
      },
      finish: () => {
        flush();
        file.finish();
      },
    };
  };
}

function schemaOf(columns: Record<string, ColumnType>): SchemaElement[] {
  const entries = Object.entries(columns);
  return [{ name: "root", num_children: entries.length }, ...entries.flatMap(([name, type]) => elementsOf(name, type))];
}

function elementsOf(name: string, type: ColumnType): SchemaElement[] {
  if (type === "string") return [text(name)];
  if (type === "integer") return [{ name, type: "INT64", repetition_type: "OPTIONAL" }];
  if (type === "number") return [{ name, type: "DOUBLE", repetition_type: "OPTIONAL" }];
  if (type === "json-list") return list(name, [text("element", "JSON")]);
  const called = group("function", [text("name"), text("arguments")]);
  const calls = list("tool_calls", group("element", [text("id"), text("type"), ...called], 3));
  const own = [text("role"), text("content"), ...calls, text("tool_call_id"), text("name")];
  return list(name, group("element", own, 5));
}

function text(name: string, converted_type: "UTF8" | "JSON" = "UTF8"): SchemaElement {
  return { name, type: "BYTE_ARRAY", converted_type, repetition_type: "OPTIONAL" };
}

function group(name: string, members: SchemaElement[], children = members.length): SchemaElement[] {
  return [{ name, num_children: children, repetition_type: "OPTIONAL" }, ...members];
}

function list(name: string, element: SchemaElement[]): SchemaElement[] {
  const outer = { name, converted_type: "LIST", num_children: 1, repetition_type: "OPTIONAL" } as const;
  return [outer, { name: "list", num_children: 1, repetition_type: "REPEATED" }, ...element];
}
