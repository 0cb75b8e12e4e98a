import type { ClientMessage, ServerMessage } from "../../protocol/messages.js";
import { isThenable } from "../../util/async/thenable.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import { type EnvironmentMessage, Exchange, type ExchangeOptions } from "../exchange.js";
import type { Sessions } from "../registry/sessions.js";
import type { Session } from "../session.js";
import { errorMessage } from "./frame.js";
import { answerRpc } from "./rpc.js";

export interface DispatchOptions extends ExchangeOptions {
  /** Where named sessions live, for the session methods of `mcp` frames. */
  sessions?: Sessions | undefined;
  /** The peer that sent the message carries the orchestrator's token. */
  orchestrator?: boolean;
  /** Registers what is to be done when nobody waits for the answer any more; called only for what takes its time. */
  whenGone?: (giveUp: () => void) => void;
}

type Reply = ServerMessage | Promise<ServerMessage>;

/**
 * Answers one message of a session; every transport comes through here. Never throws or rejects.
 * A session that is idle and an environment that is sync answer in the same turn.
 */
export function dispatch(
  session: Session,
  message: Exclude<ClientMessage, { type: "close" }>,
  options: DispatchOptions,
): Reply {
  if (message.type === "mcp") return answerMcp(session, message.data, options);
  if (session.runtime.guarded && options.orchestrator !== true) return forbidden(message.type);
  const exchange = new Exchange(session, message satisfies EnvironmentMessage, options);
  try {
    const reply = session.run(exchange);
    if (!isThenable(reply)) return reply;
    const safe = reply.then(undefined, sessionEnded);
    options.whenGone?.(() => exchange.abort(new Error("the client has left")));
    const { timeoutMs } = options;
    return timeoutMs === undefined || timeoutMs > MAX_TIMER_MS ? safe : withTimeout(safe, exchange, timeoutMs);
  } catch (error) {
    return sessionEnded(error);
  }
}

async function answerMcp(session: Session, request: unknown, options: DispatchOptions): Promise<ServerMessage> {
  const { sessions, orchestrator } = options;
  const data = await answerRpc(request, { own: session, runtime: session.runtime, sessions, orchestrator });
  return { type: "mcp", data: { ...data } };
}

function forbidden(method: string): ServerMessage {
  const message = `${method} is for the orchestrator: connect with OPENENV_ORCHESTRATOR_TOKEN as bearer token`;
  return errorMessage("FORBIDDEN", message);
}

function sessionEnded(error: unknown): ServerMessage {
  return errorMessage("SESSION_ERROR", error instanceof Error ? error.message : String(error));
}

/** The caller is answered when the time is up; the session stays busy until the environment has come back. */
function withTimeout(reply: Promise<ServerMessage>, exchange: Exchange, timeoutMs: number): Promise<ServerMessage> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      if (exchange.limitsItself) return;
      const message = `the environment did not answer within ${timeoutMs / 1000} s`;
      exchange.abort(new Error(message));
      resolve(errorMessage("TIMEOUT", message));
    }, timeoutMs);
    void reply.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}
