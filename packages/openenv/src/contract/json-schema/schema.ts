import * as z from "zod";
import type { SchemaBody } from "../../protocol/http.js";
import type { JsonObject } from "../../protocol/messages.js";
import { toClassName } from "../../util/text/class-name.js";
import type { ActionSchema } from "../action-variants.js";
import { renderTool } from "../tools/tool-render.js";
import { toolObservation } from "../tools/tool-schemas.js";
import type { Tools } from "../tools/tools.js";
import { normaliseFields } from "./normalise-schema.js";
import { renderUnion } from "./render-union.js";
import { toJsonSchema } from "./to-json-schema.js";

/** The parts of a contract that have a schema. */
export interface SchemaSource {
  name: string;
  action: ActionSchema;
  observation: z.ZodObject;
  state: z.ZodObject;
  resetObservation?: z.ZodObject;
  tools?: Tools;
  toolsOnly?: boolean;
}

/**
 * Renders the four JSON Schemas (2020-12) of `GET /schema` in the shape of the Python package, and the tools if any.
 * @throws TypeError naming the field when a type has no JSON form.
 */
export function renderSchemas(contract: SchemaSource): SchemaBody {
  const observation = renderPart(contract.observation, contract.name, "observation");
  const { resetObservation: first = contract.observation } = contract;
  const body: SchemaBody = {
    action: renderAction(contract),
    observation,
    state: renderPart(contract.state, contract.name, "state"),
    reset_observation: first === contract.observation ? observation : renderPart(first, contract.name, "observation"),
  };
  const tools = Object.entries(contract.tools ?? {}).map(([name, tool]) => renderTool(name, tool).published);
  if (tools.length === 0) return body;
  // The observation of a tools-only contract has the fields of tool calls.
  const tool_observation = renderPart(TOOL_OBSERVATION, contract.name, "observation");
  return contract.toolsOnly === true ? { ...body, tools } : { ...body, tools, tool_observation };
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

const TOOL_OBSERVATION = toolObservation(z.object({}));

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

function renderAction({ name, action }: SchemaSource): JsonObject {
  return action instanceof z.ZodObject
    ? renderPart(action as z.ZodObject, name, "action")
    : renderUnion(action, { title: classNameOf(action, name, "action"), base: BASE_FIELDS.action });
}

function renderPart(schema: z.ZodObject, name: string, part: Part): JsonObject {
  const meta = schema.meta();
  // The server sends parsed observations (output) and receives actions before they are parsed (input).
  const title = classNameOf(schema, name, part);
  // A recursive part refers to the author's schema, not to the copy of it that is rendered.
  const raw = toJsonSchema(schema, part === "action" ? "input" : "output", new Map([[schema, title]]));
  const { $defs, properties, required } = normaliseFields(raw, part);
  const rendered: JsonObject = {};
  if ($defs) rendered["$defs"] = $defs;
  rendered["additionalProperties"] = part === "state";
  if (meta?.description) rendered["description"] = meta.description;
  rendered["properties"] = { ...BASE_FIELDS[part], ...properties };
  if (required) rendered["required"] = required;
  rendered["title"] = title;
  rendered["type"] = "object";
  return rendered;
}

/** The author's name of the part, or `CounterAction` for the action of `counter_env`. */
function classNameOf(schema: z.ZodType, name: string, part: Part): string {
  const meta = schema.meta();
  return meta?.title ?? meta?.id ?? toClassName(`${name.replace(/[-_ ]?env$/i, "")} ${part}`);
}
