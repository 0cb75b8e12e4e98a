import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { clientCookie } from "../../protocol/http.js";
import { SUBPROTOCOL, TOKEN_SUBPROTOCOL } from "../../protocol/messages.js";
import type { Principal } from "../../session/attachable-session.js";
import type { Tokens } from "../config/settings.js";
import { isLoopback } from "./origins.js";
import { readCookie } from "./read-cookie.js";

/** Decides by the bearer token of a request what it may do. Without a token for a right, no request has that right. */
export interface Authorization {
  /** True when an operator token or `operators` is set: nothing else makes an operator. */
  readonly hasOperator: boolean;
  /** True also for a principal that the setting `operators` names. */
  isOperator(headers: IncomingHttpHeaders, principal?: Principal): boolean;
  isOrchestrator(headers: IncomingHttpHeaders): boolean;
  /**
   * May read rollouts: an operator, the viewer token, or a principal with that right. If no plugin decides who comes in, also
   * all peers of a server on loopback without tokens.
   */
  isViewer(headers: IncomingHttpHeaders, principal: Principal | undefined, isUndecided: boolean): boolean;
  /**
   * True for all requests if no client token is set. Operators and orchestrators are clients, too. Clients of ORS send the
   * token as `x-api-key`.
   */
  isClient(headers: IncomingHttpHeaders): boolean;
  /** True when the token or the cookie of a request fits no token of the server; undefined if it has neither. */
  isWrong(headers: IncomingHttpHeaders): boolean | undefined;
  /**
   * The value of `set-cookie` that makes a browser a client: links and pages cannot send headers.
   * Undefined unless a client token is set and the request has a token.
   */
  cookieFor(headers: IncomingHttpHeaders): string | undefined;
  /** Replaces the tokens that later requests are compared with. */
  replace(tokens: Tokens): void;
}

export function createAuthorization(initial: Tokens & { operators?: readonly string[]; host?: string }): Authorization {
  const { operators = [], host } = initial;
  let tokens = initial;
  let clientKey = deriveKey(initial);
  const hasToken = (headers: IncomingHttpHeaders): boolean => {
    const { clientToken, operatorToken, orchestratorToken } = tokens;
    return [clientToken, orchestratorToken, operatorToken].some((token) => carries(headers, token));
  };
  const hasKey = ({ "x-api-key": key }: IncomingHttpHeaders): boolean =>
    typeof key === "string" && hasToken({ authorization: BEARER + key });
  return {
    get hasOperator() {
      return tokens.operatorToken !== undefined || operators.length > 0;
    },
    isOperator: (headers, principal) =>
      carries(headers, tokens.operatorToken) || (principal !== undefined && operators.includes(principal.name)),
    isViewer(headers, principal, isUndecided) {
      if (this.isOperator(headers, principal) || carries(headers, tokens.viewerToken)) return true;
      if (principal?.rights?.includes("read-rollouts") === true) return true;
      const { clientToken, operatorToken, orchestratorToken, viewerToken } = tokens;
      const isProtected = [clientToken, operatorToken, orchestratorToken, viewerToken].some(Boolean);
      return isUndecided && !isProtected && operators.length === 0 && host !== undefined && isLoopback(host);
    },
    isOrchestrator: (headers) => carries(headers, tokens.orchestratorToken),
    isClient(headers) {
      if (clientKey === undefined || hasToken(headers) || hasKey(headers)) return true;
      const cookie = readCookie(headers, clientCookie(headers.host));
      return cookie !== undefined && sameText(cookie, clientKey);
    },
    isWrong(headers) {
      if (tokenOf(headers) !== undefined || headers["x-api-key"] !== undefined) {
        return !hasToken(headers) && !hasKey(headers) && !carries(headers, tokens.viewerToken);
      }
      const cookie = readCookie(headers, clientCookie(headers.host));
      return clientKey === undefined || cookie === undefined ? undefined : !sameText(cookie, clientKey);
    },
    cookieFor(headers) {
      if (clientKey === undefined || !hasToken(headers)) return undefined;
      return `${clientCookie(headers.host)}=${clientKey}; Path=/; HttpOnly; SameSite=Strict`;
    },
    replace(next) {
      tokens = next;
      clientKey = deriveKey(next);
    },
  };
}

/**
 * Derives the value of the cookie. Browsers send it to other ports of the host, too: it grants only the rights of a
 * client, whichever token was sent, and does not reveal a token.
 */
function deriveKey({ clientToken }: Tokens): string | undefined {
  return clientToken && createHmac("sha256", clientToken).update("openenv client cookie").digest("base64url");
}

function carries(headers: IncomingHttpHeaders, token: string | undefined): boolean {
  const given = token === undefined ? undefined : tokenOf(headers);
  return token !== undefined && given !== undefined && sameText(given, token);
}

/**
 * The token of a request: a bearer token, or an offered subprotocol, because a page cannot set headers of a WebSocket.
 * Such a page also offers {@link SUBPROTOCOL}, which the server selects: the token is never echoed.
 */
function tokenOf({ authorization, "sec-websocket-protocol": offered }: IncomingHttpHeaders): string | undefined {
  if (authorization?.startsWith(BEARER)) return authorization.slice(BEARER.length);
  const protocol = offered?.split(",").find((name) => name.trim().startsWith(TOKEN_SUBPROTOCOL));
  return protocol && Buffer.from(protocol.trim().slice(TOKEN_SUBPROTOCOL.length), "base64url").toString();
}

/** Selects the subprotocol of a WebSocket. Without a token it ignores all, like the Python package. */
export function selectSubprotocol({ "sec-websocket-protocol": header }: IncomingHttpHeaders): string | undefined {
  const offered = header?.split(",").map((name) => name.trim());
  const hasToken = offered?.some((name) => name.startsWith(TOKEN_SUBPROTOCOL));
  return hasToken && offered?.includes(SUBPROTOCOL) ? SUBPROTOCOL : undefined;
}

/** The answer to a peer without the required token. */
export const CLIENTS_ONLY = "this server requires a token: send the value of its OPENENV_CLIENT_TOKEN as bearer token";

const BEARER = "Bearer ";

/** Compares in constant time. */
function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
