import { RemoteError } from "../errors.js";
import { SESSION_HEADER, SESSION_TOKEN_HEADER } from "../protocol/http.js";
import { EXTENSIONS_KEY, type Extension, MOVING_KEY } from "../protocol/messages.js";
import type { ForkBody, ForkRequest } from "../protocol/published.js";
import type { Transport } from "../protocol/transport.js";
import { checkContract, fetchSchema } from "./contract/check.js";
import type { ClientContract } from "./contract/contract.js";
import { compileActionCheck } from "./contract/generic.js";
import { contractShape, genericShape, type Shape } from "./contract/shape.js";
import { toRemoteError } from "./failures.js";
import { type ConnectOptions, DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, requestHeaders } from "./options.js";
import { tracedOpen } from "./tracing.js";
import { parseAddress } from "./transport/address.js";
import { openConnection } from "./transport/connection.js";
import { createHttpClient, type HttpClient } from "./transport/http.js";
import { openResumingTransport, type ResumableServer } from "./transport/resuming-transport.js";

const DEFAULT_PING_INTERVAL_MS = 15_000;

interface SocketRequest {
  extensions?: readonly Extension[];
  /** The session to attach to. */
  sessionId?: string | undefined;
  /** The client leaves a server that is paused or stops: another such server refuses the connection. */
  isMoving?: boolean | undefined;
  /** Called before `onRecovered` of the options. */
  onRecovered?(): void;
}

/** The checked options and the open HTTP client of one server. */
export interface Prepared {
  /** `http://host:port/prefix`. */
  base: string;
  shape: Shape;
  http: HttpClient;
  /** Default timeout of a call, milliseconds. */
  timeoutMs: number;
  /** Opens a socket that requests more extensions, or one that is attached to a session. */
  open(signal: AbortSignal | undefined, request?: SocketRequest): Promise<Transport>;
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
  const setupHttp = createHttpClient(address, { ...opening, signal: options.signal });
  if (contract && options.check !== false) await checkContract(contract, address.base, setupHttp);
  const shape = await makeShape(contract, setupHttp, options);
  const { binary } = options;
  const resume = typeof options.resume === "object" ? options.resume : {};
  const pingIntervalMs = options.resume ? (resume.pingIntervalMs ?? DEFAULT_PING_INTERVAL_MS) : undefined;
  const requested: Extension[] = ["warnings", "move", "cancel"];
  if (options.timing) requested.push("timing");
  if (binary) requested.push("binary");
  if (options.digest) requested.push("digest");
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const http = createHttpClient(address, { headers, timeoutMs });
  const openOne = (
    signal: AbortSignal | undefined,
    more: readonly Extension[],
    { sessionId, header = http.session, isMoving }: Omit<SocketRequest, "extensions"> & { header?: string | undefined },
  ): Promise<Transport> => {
    const query = { [EXTENSIONS_KEY]: [...requested, ...more].join(), ...(isMoving && { [MOVING_KEY]: "1" }) };
    const socketUrl = address.socket(sessionId === undefined ? query : { ...query, session_id: sessionId });
    // With this header, a balancer routes the socket to the server that holds the session.
    const hints = sessionId === undefined || header === undefined ? {} : { [SESSION_HEADER]: header };
    return tracedOpen((trace) =>
      openConnection(socketUrl, { ...opening, hints: { ...hints, ...trace }, signal, binary, pingIntervalMs }),
    );
  };
  return {
    base: address.base,
    shape,
    http,
    timeoutMs,
    open: (signal, { extensions: more = [], sessionId, isMoving, onRecovered } = {}) => {
      if (!options.resume || sessionId !== undefined) return openOne(signal, more, { sessionId, isMoving });
      let header: string | undefined;
      const open = async (id: string | undefined): Promise<Transport> => {
        const isNew = id === undefined;
        const request = { sessionId: id, header, isMoving: isNew && isMoving };
        const transport = await openOne(isNew ? signal : undefined, [...more, "resume"], request);
        if (id === undefined) header = transport.sessionHeader;
        return transport;
      };
      const server: ResumableServer = {
        connectTimeoutMs: opening.timeoutMs,
        open,
        // The copies are on the same server, which balancers find by the same header.
        fork: (session, request) => fork(http, { ...session, header }, request),
      };
      return openResumingTransport(server, {
        onRecovered(recovery) {
          onRecovered?.();
          resume.onRecovered?.(recovery);
        },
      });
    },
  };
}

/** @throws RemoteError with the code of the server. */
async function fork(
  http: HttpClient,
  { session_id, token, header = session_id }: ForkBody["sessions"][number] & { header: string | undefined },
  request: ForkRequest,
): Promise<ForkBody> {
  const headers = { [SESSION_HEADER]: header, [SESSION_TOKEN_HEADER]: token };
  try {
    return (await http.post(`/sessions/${session_id}/fork`, request, {}, headers)) as ForkBody;
  } catch (error) {
    if (!(error instanceof RemoteError) || typeof error.details["code"] !== "string") throw error;
    throw toRemoteError({ ...error.details, message: error.message });
  }
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
