import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { SUBPROTOCOL, TOKEN_SUBPROTOCOL } from "../protocol/messages.js";

/** Who may do what, by the bearer token of a request. A right without a token is nobody's. */
export interface Rights {
  /** An operator's token is set: nothing else makes an operator. */
  readonly hasOperator: boolean;
  isOperator(headers: IncomingHttpHeaders): boolean;
  isOrchestrator(headers: IncomingHttpHeaders): boolean;
}

export interface Tokens {
  operatorToken: string | undefined;
  orchestratorToken: string | undefined;
}

export function createRights({ operatorToken, orchestratorToken }: Tokens): Rights {
  return {
    hasOperator: operatorToken !== undefined,
    isOperator: (headers) => carries(headers, operatorToken),
    isOrchestrator: (headers) => carries(headers, orchestratorToken),
  };
}

function carries(headers: IncomingHttpHeaders, token: string | undefined): boolean {
  const given = token === undefined ? undefined : tokenOf(headers);
  return token !== undefined && given !== undefined && sameText(given, token);
}

/**
 * The token that a request carries: as bearer token, or, because a page cannot set headers of a WebSocket, as an offered
 * subprotocol. Such a page offers {@link SUBPROTOCOL}, too, which the server selects: the token is never echoed.
 */
export function tokenOf({ authorization, "sec-websocket-protocol": offered }: IncomingHttpHeaders): string | undefined {
  if (authorization?.startsWith(BEARER)) return authorization.slice(BEARER.length);
  const protocol = offered?.split(",").find((name) => name.trim().startsWith(TOKEN_SUBPROTOCOL));
  return protocol && Buffer.from(protocol.trim().slice(TOKEN_SUBPROTOCOL.length), "base64url").toString();
}

/** For `ws`: other subprotocols are ignored, as by the reference. */
export function selectSubprotocol(offered: ReadonlySet<string>): string | false {
  return offered.has(SUBPROTOCOL) && SUBPROTOCOL;
}

const BEARER = "Bearer ";

/** Takes as long for a near miss as for a far one. */
function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
