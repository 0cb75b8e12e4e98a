import { SESSION_HEADER } from "../protocol/http.js";
import { EXTENSIONS_KEY, type Extension } from "../protocol/messages.js";
import type { Transport } from "../protocol/transport.js";
import { checkContract, fetchSchema } from "./contract/check.js";
import type { ClientContract } from "./contract/contract.js";
import { compileActionCheck } from "./contract/generic.js";
import { contractShape, genericShape, type Shape } from "./contract/shape.js";
import { type ConnectOptions, DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, requestHeaders } from "./options.js";
import { parseAddress } from "./transport/address.js";
import { openConnection } from "./transport/connection.js";
import { createHttpClient, type HttpClient } from "./transport/http.js";

/** What a client of one server works with. */
export interface Prepared {
  /** `http://host:port/prefix`. */
  base: string;
  shape: Shape;
  http: HttpClient;
  /** Milliseconds a call waits when it does not say. */
  timeoutMs: number;
  /** Opens a socket, asking for these extensions beside those of the options; `sessionId` attaches it to that session. */
  open(signal: AbortSignal | undefined, more?: readonly Extension[], sessionId?: string): Promise<Transport>;
}

/** Reads the options, and compares the contract with the server's or fetches its schema. */
export async function prepare(
  url: string | URL,
  contract: ClientContract | undefined,
  options: ConnectOptions,
): Promise<Prepared> {
  const address = parseAddress(url);
  const headers = requestHeaders(options);
  const opening = { headers, timeoutMs: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS };
  const asking = createHttpClient(address, { ...opening, signal: options.signal });
  if (contract && options.check !== false) await checkContract(contract, address.base, asking);
  const shape = await makeShape(contract, asking, options);
  const { binary } = options;
  const asked: Extension[] = ["warnings"];
  if (options.timing) asked.push("timing");
  if (binary) asked.push("binary");
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const http = createHttpClient(address, { headers, timeoutMs });
  return {
    base: address.base,
    shape,
    http,
    timeoutMs,
    open: (signal, more = [], sessionId) => {
      const extensions = { [EXTENSIONS_KEY]: [...asked, ...more].join() };
      const socketUrl = address.socket(sessionId === undefined ? extensions : { ...extensions, session_id: sessionId });
      // A balancer leads the socket to the server that has the session.
      const hints = sessionId === undefined || http.session === undefined ? {} : { [SESSION_HEADER]: http.session };
      return openConnection(socketUrl, { ...opening, hints, signal, binary });
    },
  };
}

async function makeShape(
  contract: ClientContract | undefined,
  http: HttpClient,
  options: ConnectOptions,
): Promise<Shape> {
  if (contract) return contractShape(contract, { raw: options.binary === true });
  const schema = options.check === false ? undefined : await fetchSchema(http);
  if (!schema) return genericShape(() => []);
  return genericShape(
    await compileActionCheck(schema.action),
    schema.tools?.map(({ name }) => name),
  );
}
