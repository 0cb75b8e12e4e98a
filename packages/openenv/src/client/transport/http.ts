import { ConnectionError, faultOfStatus, RemoteError } from "../../errors.js";
import { NO_SESSION, SESSION_HEADER } from "../../protocol/http.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import { isObject } from "../../util/is-object.js";
import { connectFailed } from "../failures.js";
import type { CallOptions } from "../options.js";
import type { ServerAddress } from "./address.js";
import type { OpenSocketOptions } from "./socket.js";

/** The HTTP routes of one server. Bodies are JSON; answers are not validated. */
export interface HttpClient {
  get(path: string): Promise<unknown>;
  /** `own` are headers of this request. */
  post(path: string, body: unknown, call?: CallOptions, own?: Record<string, string>): Promise<unknown>;
  /** The session header that the server or its balancer sent last. Every POST request sends it. */
  readonly session: string | undefined;
}

/**
 * @throws RemoteError (its `details.status` is the HTTP status) when the server answers with an error,
 * ConnectionError when there is no answer or it is not JSON.
 */
export function createHttpClient(address: ServerAddress, { headers, ...limits }: OpenSocketOptions): HttpClient {
  let session: string | undefined;
  const send = async (path: string, init: RequestInit, call: CallOptions): Promise<unknown> => {
    const { timeoutMs = limits.timeoutMs, signal = limits.signal } = call;
    const url = address.base + path;
    // It takes whole numbers only, unlike setTimeout.
    const timeout =
      timeoutMs > 0 ? AbortSignal.timeout(Math.ceil(Math.min(timeoutMs, MAX_TIMER_MS))) : AbortSignal.abort();
    const ended = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const ask = async (): Promise<{ response: Response; text: string }> => {
      const response = await fetch(address.http(path), { ...init, signal: ended });
      return { response, text: await response.text() };
    };
    // A request that changes nothing may be sent again.
    const retry = (error: unknown): ReturnType<typeof ask> => {
      if (init.method === "GET" && wasClosed(error)) return ask();
      throw error;
    };
    let response: Response;
    let text: string;
    try {
      ({ response, text } = await ask().catch(retry));
    } catch (cause) {
      if (signal?.aborted) throw new ConnectionError("ABORTED", `${url}: the request was aborted.`, { cause });
      if (!timeout.aborted) throw connectFailed(url, describe(cause), cause);
      throw new ConnectionError("CLIENT_TIMEOUT", `No answer from ${url} within ${timeoutMs} ms.`, { cause });
    }
    const named = response.headers.get(SESSION_HEADER);
    if (named !== null && named !== NO_SESSION) session = named;
    const body = parse(text);
    if (!response.ok) throw refusal(url, response.status, body ?? readText(text));
    if (body === undefined) throw new ConnectionError("PROTOCOL_ERROR", `${url} returned a body that is not JSON.`);
    return body;
  };

  return {
    get: (path) => send(path, { method: "GET", headers }, {}),
    post: (path, body, call = {}, own = {}) => {
      const named = session === undefined ? {} : { [SESSION_HEADER]: session };
      const asJson = { ...headers, ...named, ...own, "content-type": "application/json" };
      return send(path, { method: "POST", headers: asJson, body: JSON.stringify(body) }, call);
    },
    get session() {
      return session;
    },
  };
}

function refusal(url: string, status: number, body: unknown): RemoteError {
  const detail = typeof body === "object" && body !== null && "detail" in body ? body.detail : body;
  const code = status === 422 ? "VALIDATION_ERROR" : status === 501 ? "TASKS_NOT_SUPPORTED" : "REQUEST_FAILED";
  const words = typeof detail === "string" ? detail.slice(0, 200) : JSON.stringify(detail);
  const errors = Array.isArray(detail) ? { errors: detail } : {};
  const named = isObject(body) && typeof body["code"] === "string" ? { code: body["code"] } : {};
  const fault = isObject(body) && "fault" in body ? body["fault"] : faultOfStatus(status);
  const details = { status, fault, ...errors, ...named };
  return new RemoteError(code, `${url} answered ${status}${words && `: ${words}`}`, details);
}

/** Only this many characters of an error page are read. */
const MAX_TEXT = 4_000;

/** The text of a balancer's error page, in one line. */
function readText(text: string): string {
  const shown = text.slice(0, MAX_TEXT).replace(/<(script|style)\b[\s\S]*?<\/\1>|<[^<>]*>/gi, " ");
  return shown.replace(/\s+/g, " ").trim();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * True when the connection closed without an answer: the server may close a kept-alive connection at the moment `fetch`
 * uses it again, and a balancer closes it when the server behind it ends.
 */
function wasClosed(error: unknown): boolean {
  return CLOSED.includes((error as { cause?: NodeJS.ErrnoException }).cause?.code ?? "");
}

const CLOSED = ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"];

/** `fetch` hides the reason in the cause. */
function describe(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
