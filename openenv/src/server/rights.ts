import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

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

function carries({ authorization = "" }: IncomingHttpHeaders, token: string | undefined): boolean {
  return token !== undefined && sameText(authorization, `Bearer ${token}`);
}

/** Takes as long for a near miss as for a far one. */
function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
