import { canonicalSchema } from "openenv-ts/internal";
import type { SchemaBody } from "openenv-ts/protocol";
import { asList, asNode, type SchemaNode } from "../schema/node.js";
import { markTags, unionOf } from "./combine-types.js";
import { createModelNames, pascal } from "./model-names.js";
import { describe, type Reading, SchemaReader } from "./schema-reader.js";
import type { Alias, ClientTypes, Model, ModelField, ToolType } from "./types.js";

/** Fields of the base classes of a client, which are not read from the schema. */
const BASE_FIELDS = {
  action: ["metadata"],
  observation: ["done", "reward", "metadata"],
  state: ["episode_id", "step_count"],
} as const;
/** Schemas of foreign servers may be nested arbitrarily deep. */
const MAX_JSON_DEPTH = 256;

/**
 * Reads the schemas of any server's `GET /schema`. A missing part allows every object.
 * @throws ConfigError that names the first field whose type a client cannot express.
 */
export function readTypes(given: SchemaBody, prefix: string): ClientTypes {
  const schemas = prune(given, 0) as SchemaBody;
  const models: Model[] = [];
  const aliases: Alias[] = [];
  const names = createModelNames([
    ...["Env", "Action", "Observation", "State", "Tools"].map((part) => prefix + part),
    ...["Sync", "Async"].flatMap((kind) => [`${kind}${prefix}Env`, `${kind}${prefix}Tools`]),
  ]);
  const read = (part: keyof typeof BASE_FIELDS, root: unknown): Model => {
    const model = new SchemaReader(asNode(root), { part, names, models, aliases }).root(root, prefix + pascal(part));
    const base: readonly string[] = BASE_FIELDS[part];
    return { ...model, fields: model.fields.filter(({ name }) => !base.includes(name)) };
  };
  const action = read("action", schemas.action);
  const step = read("observation", schemas.observation);
  const isSame = canonicalSchema(schemas.observation) === canonicalSchema(schemas.reset_observation);
  const observation = isSame ? step : either(step, read("observation", schemas.reset_observation));
  const state = read("state", schemas.state);
  const tools = readTools(schemas.tools, prefix, { names, models, aliases });
  const types = { action, observation, state, models, aliases, tools };
  markTags(types);
  return types;
}

/** Reads the input and output of each tool. A missing output schema becomes "any". */
function readTools(list: unknown, prefix: string, shared: Omit<Reading, "part">): ToolType[] {
  const tools = new Map<string, ToolType>();
  for (const { name, description, input_schema, output_schema } of asList(list).map(asNode)) {
    if (typeof name !== "string" || tools.has(name)) continue;
    const [given, returned] = [asNode(input_schema), asNode(output_schema)];
    const baseName = prefix + pascal(name);
    const { name: className } = shared.names.share(`${baseName}Arguments`, `arguments ${name}`);
    const input = new SchemaReader(given, { part: `tools.${name}.input`, ...shared }).root(given, className);
    // FastMCP wraps a result that is not an object.
    const isWrapped = returned["x-fastmcp-wrap-result"] === true;
    const result: SchemaNode = isWrapped ? asNode(asNode(returned["properties"])["result"]) : returned;
    const part = `tools.${name}.output`;
    const place = { path: part, name: `${baseName}Result`, depth: 0 };
    const output = new SchemaReader(returned, { part, ...shared }).type(result, place);
    tools.set(name, { name, description: describe({ description }), input, output });
  }
  return [...tools.values()];
}

/** Limits the depth, and removes lone surrogates, which source files cannot contain. */
function prune(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_JSON_DEPTH) return {};
  if (Array.isArray(value)) return value.map((item) => prune(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), prune(member, depth + 1)]),
  );
}

/** Merges the observations of reset and step into one class. A field that either of them may omit is optional. */
function either(step: Model, reset: Model): Model {
  const fields = step.fields.map((field) => {
    const other = reset.fields.find(({ name }) => name === field.name);
    if (other === undefined) return withoutDefault(field);
    return { ...field, type: unionOf([field.type, other.type]), required: field.required && other.required };
  });
  const others = reset.fields.filter(({ name }) => !step.fields.some((field) => field.name === name));
  const extra = reset.extra === "allow" ? "allow" : step.extra;
  return { ...step, extra, fields: [...fields, ...others.map(withoutDefault)] };
}

/** Makes a field optional without a default, because only one of reset and step fills it in. */
function withoutDefault({ default: _, ...field }: ModelField): ModelField {
  return { ...field, required: false };
}
