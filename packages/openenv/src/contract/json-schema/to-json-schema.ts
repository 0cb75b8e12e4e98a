import * as z from "zod";
import type { JsonObject } from "../../protocol/messages.js";
import { type AnySchema, type KnownSchema, unwrap } from "../zod-tree.js";
import { nameDefinitions } from "./name-definitions.js";

/** Marks a type without a JSON form until it is known whether the author declared one with `.meta()`. */
export const UNREPRESENTABLE = "x-unrepresentable";

/**
 * zod's JSON Schema of an object or a union of objects, corrected where zod describes its parser instead of the data on
 * the wire. `definitions` are the parts that become definitions, with their names.
 */
export function toJsonSchema(
  schema: z.ZodType,
  io: "input" | "output",
  definitions: ReadonlyMap<AnySchema, string> = new Map(),
): JsonObject {
  // A clone is not in the registry; zod would replace a root with an `id` by a reference.
  const root = schema.clone({ ...schema._zod.def });
  const ids = new Map([...definitions.keys()].map((part, i) => [part, `__definition${i}`]));
  const get = (part: AnySchema): object | undefined => {
    const id = ids.get(part);
    return id === undefined ? z.globalRegistry.get(part) : { ...z.globalRegistry.get(part), id };
  };
  const rendered = z.toJSONSchema(root, {
    io,
    target: "draft-2020-12",
    unrepresentable: "any",
    metadata: { get } as unknown as typeof z.globalRegistry,
    override: ({ zodSchema, jsonSchema }) => correct(zodSchema as KnownSchema, jsonSchema as JsonObject),
  }) as JsonObject;
  // The names are given afterwards, because a definition of the author may have one of them.
  return nameDefinitions(rendered, new Map([...ids].map(([part, id]) => [id, definitions.get(part) as string])));
}

function correct(schema: KnownSchema, json: JsonObject): void {
  const { def } = schema._zod;
  switch (def.type) {
    case "object":
      correctObject(def, json);
      break;
    case "string":
      correctString(schema, json);
      break;
    case "default":
    case "prefault":
    case "catch":
      correctDefault(def, json);
      break;
    case "readonly":
      delete json["readOnly"];
      break;
    case "literal":
      if (def.values.some((value) => typeof value === "bigint" || value === undefined)) mark(json, "literal");
      break;
    default:
      if (NO_JSON.has(def.type)) mark(json, def.type);
  }
  // One of these keys means that the author declared the type.
  if (SAYS_TYPE.some((key) => key in json)) delete json[UNREPRESENTABLE];
}

const NO_JSON = new Set(
  "bigint symbol undefined void date map set transform nan custom function promise file success".split(" "),
);
const SAYS_TYPE = ["type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"];

function mark(json: JsonObject, type: string): void {
  json[UNREPRESENTABLE] = type;
}

/**
 * Fields with a default are optional, also in an observation; unknown members are allowed unless the schema is strict.
 */
function correctObject(def: z.core.$ZodObjectDef, json: JsonObject): void {
  const required = Object.keys(def.shape).filter((key) => (def.shape[key] as AnySchema)._zod.optin === undefined);
  if (required.length > 0) json["required"] = required;
  else delete json["required"];
  if (def.catchall === undefined) delete json["additionalProperties"];
}

/** Python creates default lists and objects with a factory and publishes no default for them. */
function correctDefault(def: { innerType: AnySchema; defaultValue?: unknown }, json: JsonObject): void {
  // zod omits the defaults of transforms, also null.
  if (def.defaultValue === null) json["default"] = null;
  const isTuple = unwrap(def.innerType)._zod.def.type === "tuple";
  if (typeof json["default"] === "object" && json["default"] !== null && !isTuple) delete json["default"];
}

/** A format is sufficient; zod's pattern for it is an implementation detail. */
function correctString(schema: KnownSchema, json: JsonObject): void {
  const { format, pattern } = schema._zod.def as { format?: string; pattern?: RegExp };
  if (format !== undefined && format !== "regex" && "format" in json && json["pattern"] === pattern?.source) {
    delete json["pattern"];
  }
}
