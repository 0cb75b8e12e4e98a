import type * as z from "zod";
import { discriminatorOf, nameOf, type UnionSchema } from "../../contract/zod-tree.js";
import { numberRules } from "../coercion/numbers.js";
import type { LocatedIssue } from "../locate.js";
import { formatError, type PydanticError } from "./format-error.js";

/** Pydantic's error for an issue of zod. It depends on the schema and on the value. */
export function pydanticError(issue: z.core.$ZodIssue, at: LocatedIssue): PydanticError {
  switch (issue.code) {
    case "invalid_type":
      return wrongType(at);
    case "invalid_value":
      return notAllowed(issue.values, at);
    case "too_small":
    case "too_big":
      return limit(issue, at);
    case "invalid_format":
      return formatError(issue);
    case "not_multiple_of":
      return {
        type: "multiple_of",
        msg: `Must be a multiple of ${issue.divisor}`,
        ctx: { multiple_of: Number(issue.divisor) },
      };
    case "invalid_key":
      return { type: "string_pattern_mismatch", msg: "Not an allowed key" };
    case "custom":
      return ownKind(issue);
    default:
      return { type: "value_error", msg: issue.message, ctx: { error: issue.message } };
  }
}

/** Issues of an author's refinement, or of a field helper, which sets the error type itself. */
function ownKind(issue: z.core.$ZodIssueCustom): PydanticError {
  const type = issue.params?.["type"];
  if (type === "dict_type") return { type, msg: "Must be an object" };
  if (typeof type === "string") return { type, msg: issue.message, ctx: { error: issue.message } };
  return { type: "value_error", msg: issue.message, ctx: { error: issue.message } };
}

function wrongType({ schema, value, union }: LocatedIssue): PydanticError {
  if (union && discriminatorOf(union as UnionSchema))
    return { type: "model_attributes_type", msg: "Must be an object" };
  if (schema === undefined) return { type: "value_error", msg: "Not an allowed value" };
  const number = numberRules(schema);
  if (number) return notANumber(value, number.integer);
  const { def } = schema._zod;
  switch (def.type) {
    case "boolean": {
      const scalar = typeof value === "string" || Number.isInteger(value);
      return { type: scalar ? "bool_parsing" : "bool_type", msg: "Must be true or false" };
    }
    case "string": {
      const { format } = def as Partial<z.core.$ZodStringFormatDef>;
      return { type: (format && FORMAT_TYPES[format]) ?? "string_type", msg: "Must be a string" };
    }
    case "object":
      return { type: "model_type", msg: "Must be an object", ctx: { class_name: nameOf(schema) ?? "object" } };
    case "record":
      return { type: "dict_type", msg: "Must be an object" };
    case "array":
      return { type: "list_type", msg: "Must be a list" };
    case "tuple":
      return { type: "tuple_type", msg: `Must be a list of ${def.items.length} items` };
    case "null":
      return { type: "none_required", msg: "Must be null" };
    default:
      return { type: "value_error", msg: "Not an allowed value" };
  }
}

const FORMAT_TYPES: Record<string, string> = { uuid: "uuid_type", guid: "uuid_type", datetime: "datetime_type" };

function notANumber(value: unknown, integer: boolean): PydanticError {
  const msg = integer ? "Must be an integer" : "Must be a number";
  if (typeof value === "string") return { type: integer ? "int_parsing" : "float_parsing", msg };
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return { type: "finite_number", msg: "Must be a finite number" };
    return { type: "int_from_float", msg: "Must be an integer, not a fraction" };
  }
  return { type: integer ? "int_type" : "float_type", msg };
}

function notAllowed(values: readonly unknown[], { schema }: LocatedIssue): PydanticError {
  const expected = orList(values.map((value) => (typeof value === "string" ? `'${value}'` : String(value))));
  const type = schema?._zod.def.type === "enum" ? "enum" : "literal_error";
  return { type, msg: `Must be ${expected}`, ctx: { expected } };
}

function orList(items: string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1)}`;
}

function limit(
  issue: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall,
  { schema, value }: LocatedIssue,
): PydanticError {
  const small = issue.code === "too_small";
  const bound = Number(small ? issue.minimum : issue.maximum);
  const amount = `${small ? "at least" : "at most"} ${bound}`;
  if (issue.origin === "string") {
    return {
      type: small ? "string_too_short" : "string_too_long",
      msg: `Must have ${amount} character${bound === 1 ? "" : "s"}`,
      ctx: { [small ? "min_length" : "max_length"]: bound },
    };
  }
  if (Array.isArray(value) || issue.origin === "array") {
    return {
      type: small ? "too_short" : "too_long",
      msg: `Must have ${amount} item${bound === 1 ? "" : "s"}`,
      ctx: {
        field_type: schema?._zod.def.type === "tuple" ? "Tuple" : "List",
        [small ? "min_length" : "max_length"]: bound,
        actual_length: Array.isArray(value) ? value.length : null,
      },
    };
  }
  const inclusive = issue.inclusive !== false;
  const type = `${small ? "greater" : "less"}_than${inclusive ? "_equal" : ""}`;
  const key = `${small ? "g" : "l"}${inclusive ? "e" : "t"}`;
  return {
    type,
    msg: `Must be ${type.replaceAll("_", " ").replace("equal", "or equal to")} ${bound}`,
    ctx: { [key]: bound },
  };
}
