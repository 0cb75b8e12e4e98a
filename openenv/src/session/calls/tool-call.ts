import type { Tool, ToolSet } from "../../environment/tools/tool-set.js";
import { TOOL_ERROR_TYPES, type ToolErrorType, type ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import { isThenable } from "../../util/async/thenable.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import { clip } from "../../util/text/clip.js";
import { InvalidOutputError } from "../../validation/plain.js";
import { describeError, toError } from "../failure.js";
import { ORPHAN_GRACE_MS, type Session, type Task } from "../session.js";
import { SessionKilledError } from "../session-killed.js";
import { Call } from "./call.js";
import { CALL } from "./call-marks.js";

/** Milliseconds a call may take when neither the author nor the caller says. */
const TIME_LIMIT_MS = 30_000;
/** How much an error tells of a name that a peer sent, and how many wrong arguments. */
const MAX_ECHO = 100;
const MAX_WRONG = 5;

export interface ToolRequest {
  name: string;
  given: JsonObject;
}

/** A call that can be made: the tool is there, and the arguments fit. */
export interface PreparedCall {
  tool: Tool;
  input: JsonObject;
}

/** What needs no session: the tool and the check of its arguments, or why there is no call. */
export function prepareCall(tools: ToolSet | undefined, { name, given }: ToolRequest): PreparedCall | ToolOutcome {
  const tool = tools?.find(name);
  if (tool === undefined) return failed("tool_not_found", `There is no tool "${clip(name, MAX_ECHO)}".`);
  const checked = tool.parse(given);
  return checked.ok ? { tool, input: checked.value } : failed("invalid_args", describeArguments(name, checked.issues));
}

/**
 * Calls a tool of the session; what is sync stays sync. The session has to be at nothing else.
 * @throws SessionKilledError, or rejects with it, when the session is gone; all else is an outcome.
 */
export function callTool(
  session: Session,
  { tool, input }: PreparedCall,
  call: Call,
): ToolOutcome | Promise<ToolOutcome> {
  try {
    // When the tool's time is up, that of the step is not: `afterTool` comes still.
    const part = call.part();
    const returned = session.instance.tools?.[tool.name]?.(input as never, part);
    if (isThenable(returned)) return withLimit(returned, { session, tool, call: part });
    return succeeded(returned, session, tool);
  } catch (error) {
    return explain(error, session, tool);
  }
}

/** A call of a tool that is no step. */
export class ToolTask extends Call implements Task<ToolOutcome> {
  readonly number = CALL.tool;
  readonly #session: Session;
  readonly #prepared: PreparedCall;

  constructor(session: Session, prepared: PreparedCall) {
    super({});
    this.#session = session;
    this.#prepared = prepared;
  }

  execute(): ToolOutcome | Promise<ToolOutcome> {
    this.#session.begin(this);
    return callTool(this.#session, this.#prepared, this);
  }
}

interface Running {
  session: Session;
  tool: Tool;
  call: Call;
}

/** When the time is up the call is answered. The next one waits a little for a handler that heeds its signal. */
function withLimit(returned: PromiseLike<unknown>, { session, tool, call }: Running): Promise<ToolOutcome> {
  const givenMs = call.timeoutMs ?? MAX_TIMER_MS;
  const limitMs = Math.min(tool.timeoutMs ?? call.timeoutMs ?? TIME_LIMIT_MS, givenMs, MAX_TIMER_MS);
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      const message = `The tool "${tool.name}" did not answer within ${limitMs / 1000} s.`;
      call.onAbort = undefined;
      call.abort(new Error(message));
      session.linger(returned);
      resolve(failed("timeout", message));
    }, limitMs);
    // Only the session waits for it any more, and must not for ever: a handler need not heed its signal.
    call.onAbort = () => {
      clearTimeout(timer);
      const message = `The tool "${tool.name}" was given up and did not end.`;
      timer = setTimeout(() => resolve(failed("timeout", message)), ORPHAN_GRACE_MS);
    };
    Promise.resolve(returned)
      .finally(() => {
        call.onAbort = undefined;
        clearTimeout(timer);
      })
      .then(
        (value) => succeeded(value, session, tool),
        (error: unknown) => explain(error, session, tool),
      )
      .then(resolve, reject);
  });
}

function succeeded(returned: unknown, session: Session, tool: Tool): ToolOutcome {
  try {
    const { value, nonFinite } = tool.render(returned);
    if (nonFinite > 0) {
      const { statistics, log } = session.runtime;
      statistics.nonFinite += nonFinite;
      log.warn({ session: session.id, tool: tool.name, count: nonFinite }, "a tool returned NaN or infinities");
    }
    return { result: value, error: null };
  } catch (error) {
    return explain(error, session, tool);
  }
}

/** Says of which kind the failure is, by what happened. */
function explain(error: unknown, session: Session, tool: Tool): ToolOutcome {
  if (error instanceof SessionKilledError) throw error;
  const { runtime, id } = session;
  const cause = toError(error);
  runtime.log.warn({ err: cause, session: id, tool: tool.name }, "a tool failed");
  const text = cause instanceof InvalidOutputError ? cause.message : describeError(error, runtime.mode);
  return failed(typeOf(cause), `The tool "${tool.name}" failed: ${text}`);
}

/** A ToolError says it itself, also one of another copy of this package or of another thread. */
function typeOf({ code, errorType }: Error & { code?: unknown; errorType?: unknown }): ToolErrorType {
  const known = TOOL_ERROR_TYPES.find((type) => type === errorType);
  return code === "TOOL_FAILED" && known !== undefined ? known : "execution_error";
}

function failed(error_type: ToolErrorType, message: string): ToolOutcome {
  return { result: null, error: { error_type, message } };
}

function describeArguments(name: string, issues: readonly ValidationIssue[]): string {
  const wrong = issues.slice(0, MAX_WRONG).map(({ loc, msg }) => `${clip(loc.join("."), MAX_ECHO)}: ${msg}`);
  const more = issues.length > MAX_WRONG ? `; and ${issues.length - MAX_WRONG} more` : "";
  return `The tool "${name}" was called with wrong arguments: ${wrong.join("; ")}${more}.`;
}
