import { clientAddress } from "#parts/sockets";
import { NO_SESSION, SESSION_HEADER, WARNING_HEADER } from "../../protocol/http.js";
import type { RequestContext } from "./router.js";

/** Client addresses that are remembered. Beyond it, the answers still warn and the log does not. */
const MAX_CLIENTS = 1_000;

const WARNING =
  "This request names no session and was answered from a new environment. Send the openenv-session header of the answer " +
  "to POST /reset, or keep its cookie, or name the session with X-OpenEnv-Session-Id.";

/**
 * Warns a client that neither keeps cookies nor names its session, and would step in a new environment each time: in a
 * header of each answer, and in the log once for each address. A client that sends `openenv-session: none` knows it.
 */
export function warnUnnamed({ request, response, context, path }: RequestContext): void {
  if (request.headers[SESSION_HEADER] === NO_SESSION) return;
  response.setHeader(WARNING_HEADER, WARNING);
  const { unnamed, runtime } = context;
  const client = clientAddress(request);
  if (unnamed.has(client) || unnamed.size >= MAX_CLIENTS) return;
  unnamed.add(client);
  runtime.log.warn(
    { client, path },
    "a request without a session was answered from a new environment, so its client gets no further than one step: it must " +
      "keep cookies, or send the header openenv-session of the answer to POST /reset, or X-OpenEnv-Session-Id with its own name",
  );
}
