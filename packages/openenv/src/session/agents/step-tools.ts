import type { ToolSet } from "../../environment/tools/tool-set.js";
import { type Fault, TOOL_FAULTS } from "../../errors.js";
import { type ActionTool, toActionTools } from "../../protocol/action-tools.js";
import type { ErrorData, JsonObject, ObservationData, ServerMessage } from "../../protocol/messages.js";
import {
  type ContentBlock,
  isAgentsDoing,
  isToolAction,
  type ToolErrorBody,
  type ToolResult,
  type ToolSummary,
} from "../../protocol/tools.js";
import { clip } from "../../util/text/clip.js";
import type { SessionCallOptions } from "../calls/call.js";
import { prepareCall, type ToolRequest } from "../calls/tool-call.js";
import type { Runtime } from "../runtime.js";
import type { Session } from "../session.js";

/** The result of a tool call that was a step. */
export interface StepToolResult {
  ok: true;
  content: ContentBlock[];
  /** The tool refused the call, and the content says why. */
  isError: boolean;
  reward: number | null;
  done: boolean;
  metadata: JsonObject;
  /** The observation without `metadata`. */
  observation: JsonObject;
}

/**
 * Why a call has no result. `infrastructure`: through no fault of the agent, so it must give no reward. Only then the
 * call may have been a step.
 */
export interface StepToolFailure {
  ok: false;
  reason: "unknown_tool" | "invalid_input" | "episode_finished" | "infrastructure";
  message: string;
  fault: Fault;
  /** The error of the session, if it is where the call failed. */
  error?: ErrorData;
}

/** The tools by which an agent acts in any environment: its own, else those whose input is the action. */
export function listStepTools(runtime: Runtime): readonly ToolSummary[] {
  return ownTools(runtime)?.summaries ?? actionTools(runtime).map(({ summary }) => summary);
}

function ownTools({ tools, definition }: Runtime): ToolSet | undefined {
  return definition.contract.toolsOnly || (tools?.summaries.length ?? 0) > 0 ? tools : undefined;
}

const rendered = new WeakMap<object, readonly ActionTool[]>();

function actionTools({ definition }: Runtime): readonly ActionTool[] {
  const { contract } = definition;
  const known = rendered.get(contract);
  if (known !== undefined) return known;
  const tools = toActionTools(contract.schemas().action, { about: contract.description });
  rendered.set(contract, tools);
  return tools;
}

/**
 * Performs a tool call as a step of the session: counted, rewarded, and refused after the end of the episode. The session
 * must have been reset. Never rejects.
 */
export async function callStepTool(
  session: Session,
  request: ToolRequest,
  options?: SessionCallOptions,
): Promise<StepToolResult | StepToolFailure> {
  const action = toStepAction(session.runtime, request);
  if ("reason" in action) return action;
  const reply = await session.call({ type: "step", data: action.data }, { ...options, inEpisode: true });
  return readStepReply(reply, action);
}

/** The result of the step of an action. */
export function readStepReply(reply: ServerMessage, { isTool }: StepAction): StepToolResult | StepToolFailure {
  if (reply.type === "observation") return read(reply.data, isTool);
  const error = reply.data as ErrorData;
  const { message, fault } = error;
  if (error.openenv_code === "EPISODE_DONE") return { ok: false, reason: "episode_finished", message, fault };
  const reason = error.code === "VALIDATION_ERROR" ? "invalid_input" : "infrastructure";
  return { ok: false, reason, message, fault, error };
}

/** What an agent reads of an observation: its only field if that is a string, else JSON, and its images. */
export function renderContent(observation: JsonObject): ContentBlock[] {
  const { metadata: _notRead, ...fields } = observation;
  const values = Object.values(fields);
  const [only] = values;
  if (values.length === 0) return [];
  if (values.length === 1 && typeof only === "string" && !IMAGE.test(only)) return [{ type: "text", text: only }];
  const images: ContentBlock[] = [];
  const text = JSON.stringify(fields, (_key, value: unknown) => {
    const found = typeof value === "string" ? IMAGE.exec(value) : null;
    if (found === null) return value;
    images.push({ type: "image", data: (value as string).slice(found[0].length), mimeType: found[1] as string });
    return `image ${images.length}`;
  });
  return [{ type: "text", text }, ...images];
}

const IMAGE = /^data:(image\/[a-z0-9.+-]+);base64,/i;

/** What a tool call is as a step. */
export interface StepAction {
  data: JsonObject;
  isTool: boolean;
}

/** The action of a call, or why it cannot be called: then it is not a step. */
export function toStepAction(runtime: Runtime, request: ToolRequest): StepAction | StepToolFailure {
  const { tools } = runtime;
  const { name, given } = request;
  const own = ownTools(runtime);
  if (own !== undefined) {
    const prepared = prepareCall(own, request);
    if ("tool" in prepared) {
      return { data: { type: "call_tool", tool_name: name, arguments: given }, isTool: true };
    }
    const { error_type, message } = prepared.error as ToolErrorBody;
    return refuse(error_type === "tool_not_found" ? "unknown_tool" : "invalid_input", message);
  }
  const tool = actionTools(runtime).find(({ summary }) => summary.name === name);
  if (tool === undefined) return refuse("unknown_tool", `There is no tool "${clip(name, 100)}".`);
  const wrong = findMisplaced(given, tool, tools !== undefined);
  if (wrong !== undefined) {
    return refuse("invalid_input", `"${wrong}" is not an argument of the tool "${name}".`);
  }
  return { data: { ...tool.fixed, ...given }, isTool: false };
}

/**
 * The argument that is not one of the tool: a client adds `metadata`, `type` makes a tool call of an action, and the name
 * of the tool says the discriminator.
 */
function findMisplaced(given: JsonObject, { fixed }: ActionTool, hasTools: boolean): string | undefined {
  if ("metadata" in given) return "metadata";
  if (hasTools && isToolAction(given)) return "type";
  return Object.keys(fixed).find((key) => key in given);
}

/** The failure of a call that the agent has to change. */
function refuse(reason: "unknown_tool" | "invalid_input", message: string): StepToolFailure {
  return { ok: false, reason, message, fault: "client" };
}

function read({ observation, reward, done, metadata = {} }: ObservationData, isTool: boolean) {
  const { metadata: _repeated, ...fields } = observation;
  const outcome = { ok: true, isError: false, done, metadata, observation: fields } as const;
  const value = typeof reward === "boolean" ? Number(reward) : reward;
  if (!isTool) return { ...outcome, reward: value, content: renderContent(fields) };
  const error = fields["error"] as ToolErrorBody | null;
  if (error === null) return { ...outcome, reward: value, content: contentOf(fields["result"] as ToolResult) };
  if (!isAgentsDoing({ error })) {
    const fault = TOOL_FAULTS[error.error_type];
    return { ok: false, reason: "infrastructure", message: error.message, fault } as const;
  }
  const content: ContentBlock[] = [{ type: "text", text: error.message }];
  return { ...outcome, isError: true, reward: value, content };
}

function contentOf({ content, data }: ToolResult): ContentBlock[] {
  const [first] = content;
  if (first === undefined) return [];
  return first.text.includes("data:image/") ? renderContent({ result: data }) : [{ type: "text", text: first.text }];
}
