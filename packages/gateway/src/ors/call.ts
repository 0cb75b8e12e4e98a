import type { GatewayParts, Host, HostRequest, HostSession } from "../host.js";
import type { CallRequest } from "./bodies.js";
import { sendError, sendTask, type TaskOutcome } from "./event-stream.js";

type Result = ReturnType<GatewayParts["readStepReply"]>;

const REASONS = {
  unknown_tool: "not_found",
  invalid_input: "input_validation",
  episode_finished: "episode_finished",
} as const;
/** The id of a call has the number of the event before it. */
const TASK_ID = /^[\w-]{36}-(\d{1,15})$/;

interface Started {
  id: string;
  body: CallRequest;
  response: HostRequest["response"];
}

/** The last call of each session, until its stream has ended. */
const started = new WeakMap<HostSession, Started>();

/**
 * Calls a tool once, and streams its result. The result is kept with the answers to other repeatable requests of the
 * session, so that a client whose stream was cut comes back with the id. The call continues meanwhile. With a journal the
 * client also comes back to the next process, which makes the call if it had no result. A client that was cut off before it
 * got the id sends the same call again.
 */
export async function call(host: Host, ctx: HostRequest, session: HostSession, body: CallRequest): Promise<void> {
  const { parts, context } = host;
  const { response } = ctx;
  const { name, input } = body;
  const task_id = body.task_id ?? findCut(host, session, body);
  const known = context.sessions.keeper?.remember(session);
  const isKnown = task_id == null || known?.has(task_id) === true;
  if (!isKnown && !isNext(task_id, session)) return sendError(response, "unknown task_id");
  const id = task_id ?? `${crypto.randomUUID()}-${session.events.last}`;
  const action = parts.toStepAction(session.runtime, { name, given: input });
  if ("reason" in action) return void sendTask(response, id, Promise.resolve(render(host, session, action)));
  const options = {
    arrivedAt: ctx.arrivedAt,
    traceparent: parts.headerTrace(ctx.request),
    requestId: id,
    orchestrator: context.authorization.isOrchestrator(ctx.request.headers),
    inEpisode: true,
  };
  const reply = session.call({ type: "step", data: action.data }, options);
  const outcome = Promise.resolve(reply).then((given) => render(host, session, parts.readStepReply(given, action)));
  const own: Started = { id, body, response };
  started.set(session, own);
  const isSent = await sendTask(response, id, outcome);
  if (isSent && started.get(session) === own) started.delete(session);
}

/** The id of the same call, whose stream was cut. */
function findCut({ parts }: Host, session: HostSession, { name, input }: CallRequest): string | undefined {
  const last = started.get(session);
  if (!last?.response.closed || last.body.name !== name) return undefined;
  return parts.canonicalJson(last.body.input) === parts.canonicalJson(input) ? last.id : undefined;
}

/** True when the call came before everything that the session has done since it continues in this process. */
function isNext(task_id: string, session: HostSession): boolean {
  return TASK_ID.exec(task_id)?.[1] === String(session.events.last);
}

function render({ context, parts }: Host, session: HostSession, result: Result): TaskOutcome {
  const { runtime } = context;
  if (!result.ok) {
    const { reason, message, fault, error } = result;
    if (reason !== "infrastructure") {
      return { json: JSON.stringify({ ok: false, error: message, reason: REASONS[reason], fault }) };
    }
    runtime.statistics.countError(error ?? { code: "EXECUTION_ERROR", message, fault }, session);
    return { error: message, fault };
  }
  const { content: blocks, metadata, reward, done: finished } = result;
  try {
    const answer = { ok: true, output: { blocks, metadata, reward, finished } };
    return { json: parts.serializeReply(answer, runtime.maxAnswerBytes) };
  } catch (error) {
    const message = `the result cannot be sent: ${(error as Error).message}`;
    runtime.statistics.countError({ code: "EXECUTION_ERROR", message, fault: "environment" }, session);
    return { error: message, fault: "environment" };
  }
}
