import type { HttpRequest } from "#parts/sockets";
import { NO_SESSION, SESSION_HEADER, sessionCookie } from "../../protocol/http.js";
import { errorData } from "../../protocol/messages.js";
import { OVER_HTTP, type SessionOpener } from "../../session/attachable-session.js";
import type { AddressUse } from "../../session/registry/session-keeper.js";
import type { Session } from "../../session/session.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import type { RequestContext } from "./router.js";
import { headerId, type NamedId, readId } from "./session-key.js";

/**
 * The session of the address, if the request has one; {@link readId} returns it from now on.
 * @throws SessionRejectedError as {@link SessionAddresses.attach}.
 */
export async function attachAddress(
  ctx: RequestContext,
  use: AddressUse,
  id = headerId(ctx.request.headers),
): Promise<void> {
  const { context, address } = ctx;
  if (address === undefined) return;
  const opener = openerOf(ctx);
  const attached = await context.addresses.attach(address.hash, { use, opener, id });
  address.session = attached?.target as Session | undefined;
  address.session?.touch();
}

/** The peer of a request, which may open a session. */
export function openerOf(
  { request, context, principal }: RequestContext,
  client: "http" | "mcp" = "http",
): SessionOpener {
  const orchestrator = context.authorization.isOrchestrator(request.headers);
  return { client, orchestrator, principal, traceparent: headerTrace(request) };
}

/** The same peer without the right to keep its session from others. */
export function visitorOf({ request, principal }: RequestContext): SessionOpener {
  return { ...OVER_HTTP, principal, traceparent: headerTrace(request) };
}

/** The trace context of a request (W3C). */
export function headerTrace({ headers: { traceparent } }: Pick<HttpRequest, "headers">): string | undefined {
  return typeof traceparent === "string" ? traceparent : undefined;
}

/**
 * The session that a request names. A cookie of a session that has ended is ignored.
 * @throws SessionRejectedError (SESSION_ERROR) if a header names a session that has ended.
 */
export function knownSession(ctx: RequestContext): Session | undefined {
  const named = readId(ctx);
  if (named?.explicit) return requireSession(ctx, named);
  return named && ctx.context.sessions.named.find(named.id);
}

/** @throws SessionRejectedError (SESSION_ERROR) if it has ended. */
export function requireSession({ context }: RequestContext, { id }: NamedId): Session {
  const session = context.sessions.named.find(id);
  if (session !== undefined) return session;
  const message = `${context.sessions.named.describeMissing(id)} POST /reset without it opens one.`;
  throw new SessionRejectedError(errorData("SESSION_ERROR", message));
}

/** Names the session in the headers of the answer. */
export function markSession(ctx: RequestContext, session: Session | null): void {
  for (const [name, value] of Object.entries(sessionHeaders(ctx, session))) ctx.response.setHeader(name, value);
}

/**
 * The headers that name the session of an answer: its id, or `none` if the environment was for this request only. A client
 * that names the session in a header needs no cookie.
 */
export function sessionHeaders(ctx: RequestContext, session: Session | null): Record<string, string> {
  const { request, address } = ctx;
  if (session === null) return { [SESSION_HEADER]: NO_SESSION };
  if (address !== undefined || headerId(request.headers) === session.id) return { [SESSION_HEADER]: session.id };
  return { [SESSION_HEADER]: session.id, "set-cookie": sessionCookieHeader(request, session) };
}

/** The value of `set-cookie` by which a browser names the session in its next requests. */
export function sessionCookieHeader({ headers }: Pick<HttpRequest, "headers">, { id }: Session): string {
  return `${sessionCookie(headers.host)}=${id}; Path=/; HttpOnly; SameSite=Lax`;
}
