import { asList, asNode, canonicalSchema, clip } from "openenv-ts/internal";
import type { SchemaBody } from "openenv-ts/protocol";
import { createModelNames, type ModelNames, pascal } from "./model-names.js";
import { createReader, describe, unionOf } from "./schema-reader.js";
import type { ClientTypes, Model, ModelField, ToolType } from "./types.js";

/** Fields that the base classes of a client have; what a schema says of them is not read. */
const BASE_FIELDS = {
  action: ["metadata"],
  observation: ["done", "reward", "metadata"],
  state: ["episode_id", "step_count"],
} as const;
/** Schemas of somebody else may be nested without end. */
const MAX_JSON_DEPTH = 256;

/** Reads the schemas of `GET /schema`, whoever wrote them; what they do not say, or say in a way of their own, is "any". */
export function readTypes(given: SchemaBody, prefix: string): ClientTypes {
  const schemas = prune(given, 0) as SchemaBody;
  const models: Model[] = [];
  const names = createModelNames([
    ...["Env", "Action", "Observation", "State", "Tools"].map((part) => prefix + part),
    ...["Env", "Tools"].map((part) => `Sync${prefix}${part}`),
  ]);
  const read = (part: keyof typeof BASE_FIELDS, root: unknown): Model => {
    const reader = createReader(asNode(root), { part, names, models });
    const model = reader.model(asNode(root), prefix + pascal(part), 0);
    const base: readonly string[] = BASE_FIELDS[part];
    return { ...model, fields: model.fields.filter(({ name }) => !base.includes(name)) };
  };
  const action = read("action", schemas.action);
  const step = read("observation", schemas.observation);
  const isSame = canonicalSchema(schemas.observation) === canonicalSchema(schemas.reset_observation);
  const observation = isSame ? step : either(step, read("observation", schemas.reset_observation));
  const state = read("state", schemas.state);
  const tools = readTools(schemas.tools, { prefix, names, models });
  return { action, observation, state, models, tools };
}

/** What a tool takes and gives; what it gives when it does not say is "any". */
function readTools(
  given: unknown,
  { prefix, ...shared }: { prefix: string; names: ModelNames; models: Model[] },
): ToolType[] {
  const tools = new Map<string, ToolType>();
  for (const { name, description, input_schema, output_schema } of asList(given).map(asNode)) {
    if (typeof name !== "string" || tools.has(name)) continue;
    const [takes, gives] = [asNode(input_schema), asNode(output_schema)];
    const called = prefix + pascal(name);
    const { name: className } = shared.names.share(`${called}Arguments`, `arguments ${name}`);
    const input = createReader(takes, { part: `input ${name}`, ...shared }).model(takes, className, 0);
    // A result that is no object is declared inside of one.
    const result = gives["x-fastmcp-wrap-result"] === true ? asNode(asNode(gives["properties"])["result"]) : gives;
    const output = createReader(gives, { part: `output ${name}`, ...shared }).type(result, `${called}Result`, 0);
    tools.set(name, { name, description: describe({ description }), input, output });
  }
  return [...tools.values()];
}

/** No deeper than can be read, and without lone surrogates, which no file of source code can have. */
function prune(value: unknown, depth: number): unknown {
  if (typeof value === "string") return clip(value, value.length);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_JSON_DEPTH) return {};
  if (Array.isArray(value)) return value.map((item) => prune(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [clip(key, key.length), prune(member, depth + 1)]),
  );
}

/** One class for what reset and step show: a field that one of them may lack may be lacking. */
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

/** The default is filled in by one of the two only. */
function withoutDefault({ default: _, ...field }: ModelField): ModelField {
  return { ...field, required: false };
}
