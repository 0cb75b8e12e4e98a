import { isAgentsDoing, type ToolCall, type ToolTransition } from "../../contract/tools/tools.js";
import type { Transition } from "../../environment/environment.js";
import type { Tool, ToolSet } from "../../environment/tools/tool-set.js";
import { TOOL_ERROR_TYPES, type ToolErrorType, type ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { lacksToolType, MISSING_TOOL_TYPE, type ToolOutcome } from "../../protocol/tools.js";
import { isThenable } from "../../util/async/thenable.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import { clip } from "../../util/text/clip.js";
import { missingField } from "../../validation/errors/issues.js";
import { InvalidOutputError } from "../../validation/json-safe.js";
import { describeError, failedCall, toError } from "../failure.js";
import type { Runtime } from "../runtime.js";
import { SessionKilledError } from "../session-killed.js";
import { ABANDONED_GRACE_MS, type Call } from "./call.js";
import type { CallPlace, CallSession } from "./observation.js";

/** Milliseconds a call may take when neither the author nor the caller sets a limit. */
const TIME_LIMIT_MS = 30_000;
/** How much an error repeats of a name that a peer sent, and how many wrong arguments. */
const MAX_ECHO = 100;
const MAX_WRONG = 5;

export interface ToolRequest {
  name: string;
  given: JsonObject;
}

/** A call that can be made: the tool is there, and the arguments fit. */
export interface PreparedCall {
  readonly type: "tool";
  readonly tool: Tool;
  readonly input: JsonObject;
}

/** What needs no session: finds the tool and checks its arguments, or says why there is no call. */
export function prepareCall(tools: ToolSet | undefined, { name, given }: ToolRequest): PreparedCall | ToolOutcome {
  const tool = tools?.find(name);
  if (tool === undefined) return failedCall("tool_not_found", `There is no tool "${clip(name, MAX_ECHO)}".`);
  const checked = tool.parse(given);
  if (checked.ok) return { type: "tool", tool, input: checked.value };
  return failedCall("invalid_args", describeArguments(name, checked.issues));
}

/**
 * Calls a tool; what is sync stays sync. The environment must not be running another call.
 * @throws SessionKilledError, or rejects with it, when the session is gone; any other failure is an outcome.
 */
export function callTool(
  { tool, input }: PreparedCall,
  call: Call,
  { environment, session }: CallPlace,
): ToolOutcome | Promise<ToolOutcome> {
  const running = { tool, session, call, part: call.child() };
  try {
    // When the tool's time is up, that of the step is not: `afterTool` is still called.
    const returned = environment.tools?.[tool.name]?.(input as never, running.part);
    return isThenable(returned) ? withLimit(returned, running) : succeeded(returned, running);
  } catch (error) {
    return explain(error, running);
  }
}

/** What a `list_tools` step returns. */
export function listTools({ summaries }: ToolSet): Transition {
  return { observation: { tools: summaries }, reward: 0 };
}

/** What a `call_tool` step returns, with what the environment adds to the call. */
export function toTransition({ name }: ToolRequest, { result, error }: ToolOutcome, more: ToolTransition): Transition {
  // An agent's own fault earns nothing.
  const { reward = isAgentsDoing({ error }) ? 0 : null } = more;
  return { ...more, reward, observation: { tool_name: name, result, error } };
}

/** The call as `afterTool` gets it. */
export function toToolCall({ name, given }: ToolRequest, { result, error }: ToolOutcome): ToolCall {
  return { name, arguments: given, result: result?.data, error: error ?? undefined };
}

/** What is wrong with an action. A call of a tool that does not say that it is one is read as the author's action. */
export function explainAction(
  data: JsonObject,
  issues: ValidationIssue[],
  { tools, definition }: Runtime,
): ValidationIssue[] {
  const isOwn = "tool_name" in definition.contract.action.shape;
  if (tools === undefined || isOwn || !lacksToolType(data)) return issues;
  return [{ ...missingField(["type"], data), msg: MISSING_TOOL_TYPE }, ...issues];
}

interface Running {
  tool: Tool;
  session: CallSession;
  call: Call;
  /** What the handler gets. */
  part: Call;
}

/** When the time is up the call is answered. The next one waits a little for a handler that heeds its signal. */
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
    // Only the session still waits for it, and must not wait for ever: a handler need not heed its signal.
    part.onAbort = () => {
      clearTimeout(timer);
      const message = `The tool "${tool.name}" was given up and did not end.`;
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
      statistics.nonFinite += nonFinite;
      log.warn({ session: session.id, tool: tool.name, count: nonFinite }, "a tool returned NaN or infinities");
    }
    return { result: value, error: null };
  } catch (error) {
    return explain(error, running);
  }
}

/** Names the kind of the failure by what happened. */
function explain(error: unknown, { tool, session }: Running): ToolOutcome {
  if (error instanceof SessionKilledError) throw error;
  const { log, mode } = session.runtime;
  const cause = toError(error);
  log.warn({ err: cause, session: session.id, tool: tool.name }, "a tool failed");
  const text = cause instanceof InvalidOutputError ? cause.message : describeError(error, mode);
  return failedCall(typeOf(cause), `The tool "${tool.name}" failed: ${text}`);
}

/** A ToolError names its kind itself, also one of another copy of this package or of another thread. */
function typeOf({ code, errorType }: Error & { code?: unknown; errorType?: unknown }): ToolErrorType {
  const known = TOOL_ERROR_TYPES.find((type) => type === errorType);
  return code === "TOOL_FAILED" && known !== undefined ? known : "execution_error";
}

function describeArguments(name: string, issues: readonly ValidationIssue[]): string {
  const wrong = issues.slice(0, MAX_WRONG).map(({ loc, msg }) => `${clip(loc.join("."), MAX_ECHO)}: ${msg}`);
  const more = issues.length > MAX_WRONG ? `; and ${issues.length - MAX_WRONG} more` : "";
  return `The tool "${name}" was called with wrong arguments: ${wrong.join("; ")}${more}.`;
}
