import { isObject, isToolAction, sampleValue } from "openenv-ts/internal";
import type { JsonObject, SchemaBody, WebInfo } from "openenv-ts/protocol";
import { createValidator } from "../../form/validator.js";
import type { Timeline } from "../../play/timeline.js";

/** Longer actions would make the snippet unreadable; in characters of JSON. */
const MAX_LENGTH = 600;

/** An example action: the last successful one of this tab, else the simplest that the schema allows. */
export function sampleAction(info: WebInfo, schema: SchemaBody, timeline: Timeline): JsonObject {
  const sent = timeline.steps.findLast(
    ({ kind, failure, action }) =>
      kind === "step" && failure === undefined && JSON.stringify(action).length <= MAX_LENGTH,
  );
  if (sent) return sent.action;
  const [tool] = schema.tools ?? [];
  if (!info.tools_only || !tool) return sampleObject(schema.action);
  return { type: "call_tool", tool_name: tool.name, arguments: sampleObject(tool.input_schema) };
}

/** True when the schema of this server accepts the action. Rules that only the server checks are not included. */
export function fitsSchema({ action: own, tools = [] }: SchemaBody, action: JsonObject): boolean {
  const tool = isToolAction(action) ? tools.find(({ name }) => name === action["tool_name"]) : undefined;
  const { errors } = createValidator(tool?.input_schema ?? own).validateFormData(
    tool ? action["arguments"] : action,
    {},
  );
  return errors.length === 0;
}

/** The required reset options. */
export function sampleReset({ reset_options }: WebInfo): JsonObject {
  return reset_options === null ? {} : sampleObject(reset_options);
}

function sampleObject(schema: JsonObject): JsonObject {
  const value = sampleValue(schema);
  return isObject(value) ? value : {};
}
