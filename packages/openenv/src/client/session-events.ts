import { ConnectionError } from "../errors.js";
import { eventsBody } from "../protocol/bodies.js";
import { type EventsBody, SESSION_HEADER, SESSION_TOKEN_HEADER } from "../protocol/http.js";
import { parseAddress } from "./transport/address.js";
import { createHttpClient } from "./transport/http.js";

const TIMEOUT_MS = 60_000;

interface Tokens {
  /** The token of the server. */
  token: string | undefined;
  sessionToken: string | undefined;
}

/** The events of the current episode of a session on a server. @throws RemoteError, ConnectionError */
export async function fetchEvents(
  url: string,
  id: string,
  { token, sessionToken }: Tokens,
): Promise<EventsBody["events"]> {
  const headers = {
    [SESSION_HEADER]: id,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(sessionToken !== undefined && { [SESSION_TOKEN_HEADER]: sessionToken }),
  };
  const options = { headers, timeoutMs: TIMEOUT_MS };
  const http = createHttpClient(parseAddress(url), options);
  const body = eventsBody.safeParse(await http.get(`/sessions/${encodeURIComponent(id)}/events`));
  if (body.success) return body.data.events;
  throw new ConnectionError("PROTOCOL_ERROR", `${url} does not answer with the events of a session.`);
}
