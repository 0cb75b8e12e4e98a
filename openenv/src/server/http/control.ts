import type { JsonObject, ObservationData, ServerMessage } from "../../protocol/messages.js";
import { dispatch } from "../dispatch.js";
import type { Session } from "../session.js";
import { Refusal } from "../sessions.js";
import { BodyFields } from "./fields.js";
import { findSession, markSession, namedSession } from "./http-session.js";
import { sendFailure, sendInvalid, sendJson } from "./respond.js";
import { type Exchange, type Handler, type Route, withBody } from "./router.js";

/** `/reset`, `/step` and `/state`: stateful when a session is named, else each with an environment of its own. */
export const CONTROL_ROUTES: Record<string, Route> = {
  "/reset": { POST: refusable(reset) },
  "/step": { POST: refusable(step) },
  "/state": { GET: refusable(state) },
};

function reset(exchange: Exchange): Promise<void> {
  return withBody(exchange, async (body = {}) => {
    const { sessions } = exchange.context;
    const message = { type: "reset", data: body } as const;
    const named = namedSession(exchange);
    // A cookie that is left over from a session that has ended does not stand in the way of a new one.
    if (named !== undefined && (named.explicit || sessions.find(named.id) !== undefined)) {
      const session = findSession(exchange, named);
      return send(exchange, session, await dispatch(session, message, {}));
    }
    const session = await sessions.openUnclaimed();
    if (session === null) return withThrowaway(exchange, (own) => dispatch(own, message, {}));
    const reply = await dispatch(session, message, {});
    if (reply.type === "error") sessions.end(session, "its first reset failed");
    send(exchange, reply.type === "error" ? null : session, reply);
  });
}

function step(exchange: Exchange): Promise<void> {
  return withBody(exchange, async (body) => {
    if (body === undefined) {
      return sendInvalid(exchange.response, [{ type: "missing", loc: ["body"], msg: "Field required", input: null }]);
    }
    const fields = new BodyFields(body);
    const message = { type: "step", data: fields.object("action") } as const;
    const timeout = fields.optionalPositive("timeout_s");
    const timeoutMs = timeout === undefined ? undefined : timeout * 1000;
    const options = { timeoutMs, requestId: fields.optionalString("request_id", 255) };
    if (fields.issues.length > 0) return sendInvalid(exchange.response, fields.issues);
    const named = namedSession(exchange);
    if (named !== undefined) {
      const session = findSession(exchange, named);
      return send(exchange, session, await dispatch(session, message, options));
    }
    await withThrowaway(exchange, async (own) => {
      const begun = await dispatch(own, { type: "reset", data: {} }, options);
      return begun.type === "error" ? begun : dispatch(own, message, options);
    });
  });
}

async function state(exchange: Exchange): Promise<void> {
  const named = namedSession(exchange);
  if (named === undefined) return withThrowaway(exchange, (own) => dispatch(own, { type: "state" }, {}));
  const session = findSession(exchange, named);
  send(exchange, session, await dispatch(session, { type: "state" }, {}));
}

type MaybePromise<T> = T | Promise<T>;

/** Uses an environment for this request alone; it ends with the answer, or when the client leaves before. */
async function withThrowaway(
  exchange: Exchange,
  use: (session: Session) => MaybePromise<ServerMessage>,
): Promise<void> {
  const { sessions } = exchange.context;
  const session = await sessions.openThrowaway();
  exchange.response.once("close", () => sessions.end(session, "the request has ended"));
  send(exchange, null, await use(session));
}

function send(exchange: Exchange, session: Session | null, reply: ServerMessage): void {
  const { response, context } = exchange;
  markSession(exchange, session);
  if (reply.type === "error") {
    const { errors } = reply.data;
    if (errors === undefined) return sendFailure(response, reply.data);
    return sendInvalid(
      response,
      errors.map((issue) => ({ ...issue, loc: bodyPath(exchange, issue.loc) })),
    );
  }
  const body = reply.type === "observation" ? httpObservation(reply.data) : reply.data;
  sendJson(response, 200, body, context.runtime.maxAnswerBytes);
}

/** Paths lead from the body on, for both stages alike: `["body", "action", "amount"]`, `["body", "seed"]`. */
function bodyPath({ path }: Exchange, loc: (string | number)[]): (string | number)[] {
  return path === "/step" ? ["body", "action", ...loc] : ["body", ...loc.slice(1)];
}

/** Over HTTP the four keys are always there and the reward is a number or null. */
function httpObservation({ observation, reward, done, metadata }: ObservationData): JsonObject {
  return {
    observation,
    reward: typeof reward === "boolean" ? Number(reward) : reward,
    done,
    metadata: metadata ?? null,
  };
}

function refusable(handler: (exchange: Exchange) => Promise<void>): Handler {
  return async (exchange) => {
    try {
      await handler(exchange);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      markSession(exchange, null);
      sendFailure(exchange.response, error.data);
    }
  };
}
