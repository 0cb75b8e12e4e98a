import type { RequestContext, Session } from "openenv-ts/internal";
import type { Host } from "../host.js";
import type { CallRequest } from "./bodies.js";
import { sendError, sendTask, type TaskOutcome } from "./event-stream.js";

const REASONS = {
  unknown_tool: "not_found",
  invalid_input: "input_validation",
  episode_finished: "episode_finished",
} as const;

/**
 * Calls a tool once, and streams its result. The result is kept with the answers to other repeatable requests of the
 * session, so that a client whose stream was cut comes back with the id. The call continues meanwhile.
 */
export async function call(host: Host, ctx: RequestContext, session: Session, body: CallRequest): Promise<void> {
  const { parts, context } = host;
  const { response } = ctx;
  const { task_id, name, input } = body;
  const answers = context.sessions.resumptions.answersOf(session);
  if (task_id != null && !answers.has(task_id)) return sendError(response, "unknown task_id");
  const id = task_id ?? crypto.randomUUID();
  const stored = answers.admitById(id, parts.digestRequest({ type: name, data: input }));
  if (typeof stored === "object" && "code" in stored) return sendError(response, stored.message);
  if (stored !== undefined) return sendTask(response, id, Promise.resolve(stored).then(unpack));
  const outcome = run(host, ctx, session, body);
  answers.store(id, outcome.then(pack));
  return sendTask(response, id, outcome);
}

/** Never rejects. */
async function run(host: Host, ctx: RequestContext, session: Session, body: CallRequest): Promise<TaskOutcome> {
  const { parts, context } = host;
  const { runtime, authorization } = context;
  const orchestrator = authorization.isOrchestrator(ctx.request.headers);
  const options = { arrivedAt: ctx.arrivedAt, orchestrator };
  const result = await parts.callStepTool(session, { name: body.name, given: body.input }, options);
  if (!result.ok) {
    const { reason, message, error } = result;
    if (reason !== "infrastructure") {
      return { json: JSON.stringify({ ok: false, error: message, reason: REASONS[reason] }) };
    }
    runtime.statistics.countError(error ?? { code: "EXECUTION_ERROR", message }, session);
    return { error: message };
  }
  const { content: blocks, metadata, reward, done: finished } = result;
  try {
    const answer = { ok: true, output: { blocks, metadata, reward, finished } };
    return { json: parts.serializeReply(answer, runtime.maxAnswerBytes) };
  } catch (error) {
    const message = `the result cannot be sent: ${(error as Error).message}`;
    runtime.statistics.countError({ code: "EXECUTION_ERROR", message }, session);
    return { error: message };
  }
}

function pack(outcome: TaskOutcome): string {
  return "json" in outcome ? outcome.json : `!${outcome.error}`;
}

/** JSON begins with a brace. */
function unpack(stored: string | Uint8Array): TaskOutcome {
  const text = String(stored);
  return text.startsWith("!") ? { error: text.slice(1) } : { json: text };
}
