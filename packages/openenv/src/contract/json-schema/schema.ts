import type * as z from "zod";
import type { SchemaBody } from "../../protocol/http.js";
import type { JsonObject } from "../../protocol/messages.js";
import { renderTool } from "../tools/tool-render.js";
import type { Tools } from "../tools/tools.js";
import { normaliseFields } from "./normalise-schema.js";
import { toJsonSchema } from "./to-json-schema.js";

/** The parts of a contract that have a schema. */
export interface SchemaSource {
  name: string;
  action: z.ZodObject;
  observation: z.ZodObject;
  state: z.ZodObject;
  resetObservation?: z.ZodObject;
  tools?: Tools;
}

/**
 * Renders the four JSON Schemas (2020-12) of `GET /schema` in the shape of the Python package, and the tools if any.
 * @throws TypeError naming the field when a type has no JSON form.
 */
export function renderSchemas(contract: SchemaSource): SchemaBody {
  const observation = renderPart(contract, "observation");
  const { resetObservation: first = contract.observation } = contract;
  const body: SchemaBody = {
    action: renderPart(contract, "action"),
    observation,
    state: renderPart(contract, "state"),
    reset_observation:
      first === contract.observation ? observation : renderPart({ ...contract, observation: first }, "observation"),
  };
  const tools = Object.entries(contract.tools ?? {}).map(([name, tool]) => renderTool(name, tool).published);
  return tools.length === 0 ? body : { ...body, tools };
}

/** The JSON Schema of the contract's own reset options; null if there are none or if one has no JSON form. */
export function renderResetOptions(reset: z.ZodObject): JsonObject | null {
  if (Object.keys(reset.shape).length === 0) return null;
  try {
    const { $defs, properties, required } = normaliseFields(toJsonSchema(reset, "input"), "reset");
    return { ...($defs && { $defs }), properties, ...(required !== undefined && { required }), type: "object" };
  } catch {
    // Clients can still send these options as JSON.
    return null;
  }
}

type Part = "action" | "observation" | "state";

const METADATA = { additionalProperties: true, description: "Free-form data", title: "Metadata", type: "object" };

const BASE_FIELDS: Record<Part, JsonObject> = {
  action: { metadata: METADATA },
  observation: {
    done: { default: false, description: "The episode has ended", title: "Done", type: "boolean" },
    reward: {
      anyOf: [{ type: "boolean" }, { type: "integer" }, { type: "number" }, { type: "null" }],
      default: null,
      description: "Reward of the last action",
      title: "Reward",
    },
    metadata: METADATA,
  },
  state: {
    episode_id: {
      anyOf: [{ type: "string" }, { type: "null" }],
      default: null,
      description: "Id of the episode",
      title: "Episode Id",
    },
    step_count: {
      default: 0,
      description: "Steps taken in this episode",
      minimum: 0,
      title: "Step Count",
      type: "integer",
    },
  },
};

function renderPart(contract: SchemaSource, part: Part): JsonObject {
  const schema = contract[part];
  const meta = schema.meta();
  // The server sends parsed observations (output) and receives actions before they are parsed (input).
  const raw = toJsonSchema(schema, part === "action" ? "input" : "output");
  const { $defs, properties, required } = normaliseFields(raw, part);
  const rendered: JsonObject = {};
  if ($defs) rendered["$defs"] = $defs;
  rendered["additionalProperties"] = part === "state";
  if (meta?.description) rendered["description"] = meta.description;
  rendered["properties"] = { ...BASE_FIELDS[part], ...properties };
  if (required) rendered["required"] = required;
  rendered["title"] = meta?.title ?? meta?.id ?? className(contract.name, part);
  rendered["type"] = "object";
  return rendered;
}

/** `counter_env`, action → `CounterAction`. */
function className(name: string, part: Part): string {
  const words = name
    .replace(/[-_ ]?env$/i, "")
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean);
  return [...words, part].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
