import type { IncomingMessage } from "node:http";
import { NO_SESSION, SESSION_HEADER, sessionCookie } from "../../protocol/http.js";
import type { Session } from "../../session/session.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { readCookie } from "../access/read-cookie.js";
import type { RequestContext } from "./router.js";

/** The session a request names by header or cookie. */
export interface NamedSession {
  id: string;
  /** A header is meant; a cookie may be left over. */
  explicit: boolean;
}

export function namedSession({ request }: RequestContext): NamedSession | undefined {
  const header = request.headers[SESSION_HEADER];
  if (header === NO_SESSION) return undefined;
  if (typeof header === "string" && header !== "") return { id: header, explicit: true };
  const id = cookieSession(request);
  return id === undefined ? undefined : { id, explicit: false };
}

/**
 * The session that a request names. A cookie that is left over from one that has ended names none.
 * @throws Refusal (SESSION_ERROR) when the one that a header names is not there any more.
 */
export function knownSession(ctx: RequestContext): Session | undefined {
  const named = namedSession(ctx);
  if (named?.explicit) return findSession(ctx, named);
  return named && ctx.context.sessions.named.find(named.id);
}

/** @throws Refusal (SESSION_ERROR) when it is not there any more. */
export function findSession({ context }: RequestContext, { id }: NamedSession): Session {
  const session = context.sessions.named.find(id);
  if (session !== undefined) return session;
  const message = `${context.sessions.named.describeMissing(id)} POST /reset without it opens one.`;
  throw new SessionRejectedError({ message, code: "SESSION_ERROR" });
}

/** Says with which session the answer was made: its id, or `none` for an environment of this request alone. */
export function markSession({ request, response }: RequestContext, session: Session | null): void {
  response.setHeader(SESSION_HEADER, session === null ? NO_SESSION : session.id);
  if (session === null) return;
  response.setHeader("set-cookie", sessionCookieHeader(request, session));
}

/** The value of `set-cookie` that makes a browser name the session from now on. */
export function sessionCookieHeader({ headers }: IncomingMessage, { id }: Session): string {
  return `${sessionCookie(headers.host)}=${id}; Path=/; HttpOnly; SameSite=Lax`;
}

/** The session that a browser names. */
export function cookieSession({ headers }: IncomingMessage): string | undefined {
  return readCookie(headers, sessionCookie(headers.host));
}
