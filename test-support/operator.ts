/** The operator of servers that tests start. */
export const OPERATOR_TOKEN = "operator of the tests";

/** For a server that is started by options, and for one that is started by variables. */
export const WITH_OPERATOR = { operatorToken: OPERATOR_TOKEN };
export const OPERATOR_VARIABLES = { OPENENV_OPERATOR_TOKEN: OPERATOR_TOKEN };

export const AS_OPERATOR = { authorization: `Bearer ${OPERATOR_TOKEN}` };

/** Requests `url` as the operator. */
export function fetchAsOperator(
  url: string,
  headers: Record<string, string> = {},
  method: "GET" | "POST" = "GET",
): Promise<Response> {
  return fetch(url, { method, headers: { ...AS_OPERATOR, ...headers } });
}
