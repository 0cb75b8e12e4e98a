import { fieldsOf } from "../../contract/action-variants.js";
import type { Contract } from "../../contract/contract.js";
import type { ToolCall } from "../../contract/tools/tools.js";
import type { Transition } from "../../environment/environment.js";
import type { Tool, ToolSet } from "../../environment/tools/tool-set.js";
import { TOOL_ERROR_TYPES, TOOL_FAULTS, type ToolErrorType, type ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isAgentsDoing, lacksToolType, MISSING_TOOL_TYPE, type ToolOutcome } from "../../protocol/tools.js";
import { after } from "../../util/async/after.js";
import { isThenable } from "../../util/async/thenable.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import { clip } from "../../util/text/clip.js";
import type { Eventual } from "../../util/types.js";
import { missingField } from "../../validation/errors/issues.js";
import { InvalidOutputError } from "../../validation/json-safe.js";
import { describeError, failedCall, faultOf, lostReason, toError } from "../failure.js";
import type { Runtime } from "../runtime.js";
import { SessionKilledError } from "../session-killed.js";
import { ABANDONED_GRACE_MS, type Call } from "./call.js";
import type { CallSession, CallTarget } from "./observation.js";

/** Milliseconds a call may take when neither the author nor the caller sets a limit. */
const TIME_LIMIT_MS = 30_000;
/** Maximum length of an echoed name, and maximum number of listed arguments. */
const MAX_ECHO = 100;
const MAX_WRONG = 5;

export interface ToolRequest {
  name: string;
  given: JsonObject;
}

/** A call of a known tool with valid arguments. */
export interface PreparedCall {
  readonly type: "tool";
  readonly tool: Tool;
  readonly input: JsonObject;
  /** The arguments before validation. */
  readonly given: JsonObject;
}

/** Finds the tool and validates its arguments, which needs no session. Returns the failure if it cannot be called. */
export function prepareCall(tools: ToolSet | undefined, { name, given }: ToolRequest): PreparedCall | ToolOutcome {
  const tool = tools?.find(name);
  if (tool === undefined) return failedCall("tool_not_found", `There is no tool "${clip(name, MAX_ECHO)}".`);
  const checked = tool.parse(given);
  if (checked.ok) return { type: "tool", tool, input: checked.value, given };
  return failedCall("invalid_args", describeArguments(name, checked.issues));
}

/**
 * Calls a tool; sync for a sync handler. The environment must not run another call.
 * @throws SessionKilledError or a SessionLostError, or rejects with it, when the session is lost; any other failure is an outcome.
 */
export function callTool(
  { tool, input }: PreparedCall,
  call: Call,
  { environment, session }: CallTarget,
): ToolOutcome | Promise<ToolOutcome> {
  const running = { tool, session, call, part: call.child() };
  try {
    // A child call: a timeout of the tool does not abort the step, which still calls `afterTool`.
    const returned = environment.tools?.[tool.name]?.(input as never, running.part);
    return isThenable(returned) ? withLimit(returned, running) : succeeded(returned, running);
  } catch (error) {
    return explain(error, running);
  }
}

/** The result of a `list_tools` step. */
export function listTools({ summaries }: ToolSet, { toolReward }: Contract): Transition {
  return { observation: { tools: summaries }, reward: toolReward };
}

/** Performs a `call_tool` step; sync with sync handlers. */
export function stepTool(action: JsonObject, call: Call, target: CallTarget): Eventual<Transition> {
  const { tools, definition } = target.session.runtime;
  const request = { name: action["tool_name"] as string, given: action["arguments"] as JsonObject };
  const finish = (outcome: ToolOutcome): Eventual<Transition> => {
    call.limitedByTool = false;
    const called = toTransition(request, outcome, definition.contract);
    const more = target.environment.afterTool?.(toToolCall(request, outcome), call) ?? {};
    return after(more, ({ reward = called.reward ?? null, ...rest }) => ({ ...rest, ...called, reward }));
  };
  call.kind = "tool";
  const prepared = prepareCall(tools, request);
  if (!("tool" in prepared)) return finish(prepared);
  call.limitedByTool = true;
  return after(callTool(prepared, call, target), finish);
}

/** The observation and the default reward of a `call_tool` step. The environment's `afterTool` may decide the reward. */
function toTransition({ name }: ToolRequest, { result, error }: ToolOutcome, { toolReward }: Contract): Transition {
  // A failure that the agent caused is rewarded as a call.
  return { reward: isAgentsDoing({ error }) ? toolReward : null, observation: { tool_name: name, result, error } };
}

/** The argument of `afterTool`. */
function toToolCall({ name, given }: ToolRequest, { result, error }: ToolOutcome): ToolCall {
  return { name, arguments: given, result: result?.data, error: error ?? undefined };
}

/** Adds a hint to the errors of an action that looks like a tool call without `type`. */
export function explainAction(
  data: JsonObject,
  issues: ValidationIssue[],
  { tools, definition }: Runtime,
): ValidationIssue[] {
  const isOwn = "tool_name" in fieldsOf(definition.contract.action);
  if (tools === undefined || isOwn || !lacksToolType(data)) return issues;
  return [{ ...missingField(["type"], data), msg: MISSING_TOOL_TYPE }, ...issues];
}

interface Running {
  tool: Tool;
  session: CallSession;
  call: Call;
  /** The context of the handler. */
  part: Call;
}

/** Answers the call when its time limit passes. The next call then waits for the handler for a limited time. */
function withLimit(returned: PromiseLike<unknown>, running: Running): Promise<ToolOutcome> {
  const { tool, call, part } = running;
  const givenMs = call.timeoutMs ?? MAX_TIMER_MS;
  const limitMs = Math.min(tool.timeoutMs ?? call.timeoutMs ?? TIME_LIMIT_MS, givenMs, MAX_TIMER_MS);
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      const message = `The tool "${tool.name}" did not answer within ${limitMs / 1000} s.`;
      part.onAbort = undefined;
      part.abort(new Error(message));
      call.abandoned = returned;
      resolve(failedCall("timeout", message));
    }, limitMs);
    // Handlers may ignore their signal, so the session waits for a cancelled handler only for a limited time.
    part.onAbort = () => {
      clearTimeout(timer);
      // The client has its answer, and the next call waits for the end of the handler.
      if (call.abortCode === "CANCELLED") return;
      const message = `The tool "${tool.name}" was cancelled but did not stop.`;
      timer = setTimeout(() => resolve(failedCall("timeout", message)), ABANDONED_GRACE_MS);
    };
    Promise.resolve(returned)
      .finally(() => {
        part.onAbort = undefined;
        clearTimeout(timer);
      })
      .then(
        (value) => succeeded(value, running),
        (error: unknown) => explain(error, running),
      )
      .then(resolve, reject);
  });
}

function succeeded(returned: unknown, running: Running): ToolOutcome {
  const { tool, session } = running;
  try {
    const { value, nonFinite } = tool.render(returned);
    if (nonFinite > 0) {
      const { statistics, log } = session.runtime;
      statistics.counts.openenv_values_not_finite_total += nonFinite;
      log.warn({ session: session.id, tool: tool.name, count: nonFinite }, "a tool returned NaN or infinities");
    }
    return { result: value, error: null };
  } catch (error) {
    return explain(error, running);
  }
}

/** Converts an error of a handler to an outcome. */
function explain(error: unknown, { tool, session }: Running): ToolOutcome {
  if (error instanceof SessionKilledError || lostReason(error) !== undefined) throw error;
  const { log, mode } = session.runtime;
  const cause = toError(error);
  const type = typeOf(cause);
  log.warn({ err: cause, session: session.id, tool: tool.name, fault: TOOL_FAULTS[type] }, "a tool failed");
  const text = cause instanceof InvalidOutputError ? cause.message : describeError(error, mode);
  return failedCall(type, `The tool "${tool.name}" failed: ${text}`);
}

/** The type of a ToolError, also from another copy of this package or another thread. */
function typeOf(error: Error & { code?: unknown; errorType?: unknown }): ToolErrorType {
  const { code, errorType } = error;
  const known = TOOL_ERROR_TYPES.find((type) => type === errorType);
  if (code === "TOOL_FAILED" && known !== undefined) return known;
  return faultOf(error) === "infrastructure" ? "transport_error" : "execution_error";
}

function describeArguments(name: string, issues: readonly ValidationIssue[]): string {
  // The error of a rule about several arguments has no path.
  const wrong = issues
    .slice(0, MAX_WRONG)
    .map(({ loc, msg }) => (loc.length === 0 ? msg : `${clip(loc.join("."), MAX_ECHO)}: ${msg}`));
  const more = issues.length > MAX_WRONG ? `; and ${issues.length - MAX_WRONG} more` : "";
  return `The tool "${name}" was called with wrong arguments: ${wrong.join("; ")}${more}.`;
}
