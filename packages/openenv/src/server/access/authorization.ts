import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { clientCookie } from "../../protocol/http.js";
import { SUBPROTOCOL, TOKEN_SUBPROTOCOL } from "../../protocol/messages.js";
import { readCookie } from "./read-cookie.js";
import type { Tokens } from "./tokens.js";

/** Who may do what, by the bearer token of a request. Where no token is set for a right, no request has it. */
export interface Authorization {
  /** An operator's token is set: nothing else makes an operator. */
  readonly hasOperator: boolean;
  isOperator(headers: IncomingHttpHeaders): boolean;
  isOrchestrator(headers: IncomingHttpHeaders): boolean;
  /** True for all requests where no client's token is set. Operators and orchestrators are clients, too. */
  isClient(headers: IncomingHttpHeaders): boolean;
  /**
   * The value of `set-cookie` that makes a browser a client, for its links and pages: they cannot have headers.
   * Undefined unless a client's token is set and the request carries a token.
   */
  cookieFor(headers: IncomingHttpHeaders): string | undefined;
  /** Replaces the tokens that requests are compared with from now on. */
  replace(tokens: Tokens): void;
}

export function createAuthorization(initial: Tokens): Authorization {
  let tokens = initial;
  let clientKey = deriveKey(initial);
  const hasToken = (headers: IncomingHttpHeaders): boolean => {
    const { clientToken, operatorToken, orchestratorToken } = tokens;
    return [clientToken, orchestratorToken, operatorToken].some((token) => carries(headers, token));
  };
  return {
    get hasOperator() {
      return tokens.operatorToken !== undefined;
    },
    isOperator: (headers) => carries(headers, tokens.operatorToken),
    isOrchestrator: (headers) => carries(headers, tokens.orchestratorToken),
    isClient(headers) {
      if (clientKey === undefined || hasToken(headers)) return true;
      const cookie = readCookie(headers, clientCookie(headers.host));
      return cookie !== undefined && sameText(cookie, clientKey);
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
 * What the cookie holds. Other ports of the host get it, too: it makes a client and nothing more, whichever token was
 * sent, and no token can be read from it.
 */
function deriveKey({ clientToken }: Tokens): string | undefined {
  return clientToken && createHmac("sha256", clientToken).update("openenv client cookie").digest("base64url");
}

function carries(headers: IncomingHttpHeaders, token: string | undefined): boolean {
  const given = token === undefined ? undefined : tokenOf(headers);
  return token !== undefined && given !== undefined && sameText(given, token);
}

/**
 * The token that a request carries: as bearer token, or, because a page cannot set headers of a WebSocket, as an offered
 * subprotocol. Such a page offers {@link SUBPROTOCOL}, too, which the server selects: the token is never echoed.
 */
function tokenOf({ authorization, "sec-websocket-protocol": offered }: IncomingHttpHeaders): string | undefined {
  if (authorization?.startsWith(BEARER)) return authorization.slice(BEARER.length);
  const protocol = offered?.split(",").find((name) => name.trim().startsWith(TOKEN_SUBPROTOCOL));
  return protocol && Buffer.from(protocol.trim().slice(TOKEN_SUBPROTOCOL.length), "base64url").toString();
}

/** For `ws`: a subprotocol that comes without a token is ignored, as by the reference. */
export function selectSubprotocol(offered: ReadonlySet<string>): string | false {
  const hasToken = [...offered].some((name) => name.startsWith(TOKEN_SUBPROTOCOL));
  return hasToken && offered.has(SUBPROTOCOL) && SUBPROTOCOL;
}

/** The answer to a peer without a token where one is needed. */
export const CLIENTS_ONLY =
  "this server answers only clients with its token: send the value of OPENENV_CLIENT_TOKEN as bearer token";

const BEARER = "Bearer ";

/** Takes as long for a near miss as for a far one. */
function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
