import { type AnySchema, nameOf, unwrap } from "../../contract/zod-tree.js";
import { numberRules } from "../coercion/numbers.js";

/** The name of a union's member in the path of an error, as in Pydantic: `int`, `str`, `list[int]`, a class name. */
export function unionBranchName(schema: AnySchema, depth = 0): string {
  // The name of a recursive type would be infinite.
  if (depth > 3) return "any";
  const inner = (part: AnySchema) => unionBranchName(part, depth + 1);
  const named = nameOf(schema);
  const known = unwrap(schema);
  const name = named ?? nameOf(known);
  const number = numberRules(known);
  if (number) return `${number.constrained ? "constrained-" : ""}${number.integer ? "int" : "float"}`;
  const { def } = known._zod;
  switch (def.type) {
    case "string":
      return stringName(def);
    case "boolean":
      return "bool";
    case "null":
      return "none";
    case "literal":
      return `literal[${def.values.map((value) => (typeof value === "string" ? `'${value}'` : String(value))).join(",")}]`;
    case "enum":
      return `enum[${name ?? Object.values(def.entries).join(",")}]`;
    case "array":
      return `list[${inner(def.element)}]`;
    case "record":
      return `dict[${inner(def.keyType)},${inner(def.valueType)}]`;
    case "tuple":
      return `tuple[${def.items.map(inner).join(",")}]`;
    case "union":
      return `union[${def.options.map(inner).join(",")}]`;
    case "object":
      return name ?? "object";
    default:
      return name ?? (def.type === "unknown" ? "any" : def.type);
  }
}

const FORMATS: Record<string, string> = {
  uuid: "uuid",
  guid: "uuid",
  datetime: "datetime",
  date: "date",
  time: "time",
};

function stringName(def: { format?: string; checks?: readonly unknown[] | undefined }): string {
  const format = def.format === undefined ? undefined : FORMATS[def.format];
  return format ?? (def.format !== undefined || (def.checks?.length ?? 0) > 0 ? "constrained-str" : "str");
}
