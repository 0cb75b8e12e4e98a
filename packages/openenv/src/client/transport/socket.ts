import { ConnectionError } from "../../errors.js";
import { SESSION_HEADER } from "../../protocol/http.js";
import { SUBPROTOCOL, TOKEN_SUBPROTOCOL } from "../../protocol/messages.js";
import { encodeBase64Url } from "../../util/text/base64.js";
import { connectAborted, connectFailed } from "../failures.js";
import { describeClose } from "./close-codes.js";

/** An open WebSocket, independent of the runtime. */
export interface Socket {
  send(frame: string | Uint8Array): void;
  /** Undefined on platforms whose sockets cannot send pings. */
  ping: (() => void) | undefined;
  /** The session header of the handshake, on platforms that can read it. */
  sessionHeader: string | undefined;
  /** Resolves with the close code; a peer that does not answer the close frame is disconnected after a second (1006). */
  close(): Promise<number>;
  /** Destroys the socket at once; its handlers are not called again. */
  drop(): void;
}

export interface SocketHandlers {
  /** `data` is a string for a text frame, an ArrayBuffer or a Uint8Array for a binary one. */
  onMessage(data: unknown): void;
  /** `reason` is a sentence with the code. */
  onClose(code: number, reason: string): void;
  /** The peer has answered a ping. */
  onPong?(): void;
}

/** Options of `openSocket`. */
export interface OpenSocketOptions {
  headers: Record<string, string>;
  /** Optional headers: omitted on platforms that cannot send headers. */
  hints?: Record<string, string>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Send and accept MessagePack once the server has confirmed it. */
  binary?: boolean | undefined;
  /** Milliseconds between pings while a request waits, where the platform can send them; default none. */
  pingIntervalMs?: number | undefined;
}

/** The largest accepted message, bytes. */
const MAX_MESSAGE_BYTES = 100 * 1024 * 1024;
const CLOSE_WAIT_MS = 1000;
/** The code of a socket that ended without a close frame. */
const NOT_CLOSED = 1006;
const BEARER = "Bearer ";

/** Opens a WebSocket; `attach` makes its handlers before a frame can arrive. @throws ConnectionError. */
export async function openSocket<Handlers extends SocketHandlers>(
  url: string,
  options: OpenSocketOptions,
  attach: (socket: Socket) => Handlers,
): Promise<Handlers> {
  const { signal, timeoutMs } = options;
  if (signal?.aborted) throw connectAborted(signal);
  const raw = await createRawSocket(url, options);
  const place = withoutQuery(url);
  let sessionHeader: string | undefined;
  raw.on?.("upgrade", (response) => {
    sessionHeader = response?.headers[SESSION_HEADER];
  });
  return new Promise((resolve, reject) => {
    const fail = (error: ConnectionError): void => {
      drop(raw);
      settle();
      reject(error);
    };
    const onAbort = (): void => fail(connectAborted(signal));
    const timer = setTimeout(() => fail(connectFailed(place, `no answer within ${timeoutMs} ms`)), timeoutMs);
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    signal?.addEventListener("abort", onAbort);
    raw.onerror = ({ error }) => fail(connectFailed(place, refusalOf(error) || "connection failed", error));
    raw.onclose = ({ code }) => fail(connectFailed(place, `closed before it was open (${code})`));
    raw.onopen = () => {
      settle();
      const handlers = attach({
        sessionHeader,
        send: (frame) => raw.send(frame),
        ping: raw.ping && (() => raw.ping?.()),
        close: () => closeRaw(raw),
        drop: () => drop(raw),
      });
      let cause: unknown;
      raw.onmessage = ({ data }) => handlers.onMessage(data);
      raw.onerror = ({ error }) => {
        cause = error;
      };
      raw.onclose = ({ code, reason }) => handlers.onClose(code, describeClose(code, reason || messageOf(cause)));
      // Bun has pings, and reports their answers as DOM events.
      (raw.on ?? raw.addEventListener)?.call(raw, "pong", () => handlers.onPong?.());
      resolve(handlers);
    };
    // The signal may have fired before its listener was added, while the module was loading.
    if (signal?.aborted) onAbort();
  });
}

/** What `ws` and the WebSocket of the platform have in common. */
interface RawSocket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: ((event: { error?: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(frame: string | Uint8Array): void;
  close(code?: number): void;
  terminate?(): void;
  ping?(): void;
  addEventListener?(event: "pong", listener: () => void): void;
  on?(event: "pong" | "upgrade", listener: (response?: { headers: Record<string, string> }) => void): void;
}

async function createRawSocket(url: string, options: OpenSocketOptions): Promise<RawSocket> {
  if (isNode()) {
    const { WebSocket } = await import("ws");
    return new WebSocket(url, {
      headers: { ...options.headers, ...options.hints },
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    }) as unknown as RawSocket;
  }
  const { authorization, ...rest } = options.headers;
  const token = authorization?.startsWith(BEARER) ? authorization.slice(BEARER.length) : undefined;
  if (Object.keys(rest).length > 0 || (authorization !== undefined && token === undefined)) {
    throw new ConnectionError(
      "CONNECTION_FAILED",
      "WebSockets on this platform cannot send headers: use `token` instead of `headers`, or a cookie of the same " +
        "origin.",
    );
  }
  const socket = new globalThis.WebSocket(
    url,
    // A subprotocol must be an HTTP token.
    token === undefined ? [] : [SUBPROTOCOL, TOKEN_SUBPROTOCOL + encodeBase64Url(new TextEncoder().encode(token))],
  );
  socket.binaryType = "arraybuffer";
  return socket as unknown as RawSocket;
}

function isNode(): boolean {
  const foreign = "Bun" in globalThis || "Deno" in globalThis;
  return typeof process === "object" && typeof process.versions?.node === "string" && !foreign;
}

function detach(raw: RawSocket): void {
  raw.onopen = raw.onmessage = raw.onclose = null;
  // Without a listener, `ws` throws the error of a socket that is closed before it is open.
  raw.onerror = () => {};
}

function drop(raw: RawSocket): void {
  detach(raw);
  if (raw.terminate) raw.terminate();
  else raw.close();
}

function closeRaw(raw: RawSocket): Promise<number> {
  detach(raw);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      drop(raw);
      resolve(NOT_CLOSED);
    }, CLOSE_WAIT_MS);
    raw.onclose = ({ code }) => {
      clearTimeout(timer);
      resolve(code);
    };
    raw.close(1000);
  });
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : "";
}

/** Describes why the handshake failed; an HTTP response is a rejection. */
function refusalOf(cause: unknown): string {
  const reason = messageOf(cause).replace(/^Unexpected server response: /, "expected a WebSocket, got HTTP status ");
  return reason.endsWith(" 401")
    ? `${reason}: pass the value of the server's OPENENV_CLIENT_TOKEN as \`token\``
    : reason;
}

/** The query may contain a secret. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
