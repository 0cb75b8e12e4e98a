import { EnvironmentError } from "../errors.js";
import { MAX_TIMER_MS } from "../util/async/timer.js";
import { isObject } from "../util/is-object.js";

/** Options of {@link createChatEndpoint}. */
export interface ChatEndpointOptions {
  /** Base address of an OpenAI-compatible API: `https://host/v1`, without `/chat/completions`. */
  url: string;
  model: string;
  /** Sent as a bearer token; never part of an error, a log line or the state. */
  apiKey?: string;
  /** Milliseconds for an answer, including all retries; default 60,000. */
  timeoutMs?: number;
  /** Retries after 408, 429, 5xx and a lost connection, with exponential backoff; default 3. */
  retries?: number;
  /** Additional members of the request: `{ temperature: 0, max_tokens: 50 }`. */
  request?: Readonly<Record<string, unknown>>;
}

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

/** Resolves with the text of the answer. Rejects with an EnvironmentError; details for the log are in its cause. */
export type ChatModel = (messages: readonly ChatMessage[], signal?: AbortSignal) => Promise<string>;

const FIRST_DELAY_MS = 500;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * Creates a function that sends messages to a language model over an OpenAI-compatible API, with a timeout and retries.
 * @throws RangeError for an invalid option; the message never contains the key.
 */
export function createChatEndpoint(options: ChatEndpointOptions): ChatModel {
  const { model, timeoutMs = 60_000, retries = 3, request } = options;
  const address = addressOf(options.url);
  const headers = { "content-type": "application/json", ...authorization(options.apiKey) };
  if (typeof model !== "string" || model === "") throw new RangeError("model must be the name of a model.");
  if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS))
    throw new RangeError("timeoutMs must be a positive number of milliseconds.");
  if (!(Number.isInteger(retries) && retries >= 0)) throw new RangeError("retries must be a non-negative integer.");

  return async (messages, signal) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const init = { method: "POST", headers, body: JSON.stringify({ ...request, model, messages }) } as const;
    let before = "";
    for (let failures = 0; ; failures++) {
      const answer = await attempt(address, { ...init, signal: either, redirect: "manual" });
      if ("text" in answer) return answer.text;
      if (signal?.aborted) throw new EnvironmentError("the request to the model was cancelled");
      if (timeout.aborted) throw new EnvironmentError(`the model did not answer within ${timeoutMs / 1000} s${before}`);
      before = `; before that, it ${answer.reason}`;
      if (!answer.again || failures >= retries) throw failureOf(answer, failures, options.apiKey);
      await pause(answer.afterMs ?? FIRST_DELAY_MS * 2 ** failures * (1 + Math.random()), either);
    }
  };
}

interface Failure {
  reason: string;
  /** The response, for the log. */
  detail?: string | undefined;
  again: boolean;
  afterMs?: number | undefined;
}

async function attempt(address: string, init: RequestInit): Promise<{ text: string } | Failure> {
  let response: Response;
  let body: string;
  try {
    response = await fetch(address, init);
    body = await readBody(response);
  } catch (error) {
    if (error instanceof TooLargeError) return { reason: error.message, again: false };
    const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { reason: "could not be reached", detail: String(inner), again: true };
  }
  if (response.ok) return readAnswer(body);
  const { status, headers } = response;
  const again = status === 408 || status === 429 || status >= 500;
  return { reason: `returned status ${status}`, detail: body, again, afterMs: again ? retryAfter(headers) : undefined };
}

function readAnswer(body: string): { text: string } | Failure {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return { reason: "returned invalid JSON", detail: body, again: false };
  }
  const choices = isObject(parsed) ? parsed["choices"] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const message = isObject(choice) ? choice["message"] : undefined;
  if (!isObject(choice) || !isObject(message)) {
    return { reason: "returned no chat completion: choices[0].message is missing", detail: body, again: false };
  }
  if (typeof message["refusal"] === "string") return { reason: "refused", detail: message["refusal"], again: false };
  const finish = choice["finish_reason"];
  // A truncated answer could be read as another score.
  if (finish === "length" || finish === "content_filter") {
    return { reason: `did not finish its answer (finish_reason "${finish}")`, detail: body, again: false };
  }
  if (typeof message["content"] === "string") return { text: message["content"] };
  return { reason: "returned no text", detail: body, again: false };
}

class TooLargeError extends Error {}

async function readBody({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  if (body === null) return text;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw new TooLargeError(`returned more than ${MAX_BODY_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The response goes only into the cause, not to the client: it may contain the prompt or parts of the key. */
function failureOf({ reason, detail, again }: Failure, retried: number, apiKey: string | undefined): EnvironmentError {
  const tries = retried > 0 ? ` (${retried + 1} attempts)` : "";
  const fault = again ? "infrastructure" : "environment";
  if (detail === undefined) return new EnvironmentError(`the model ${reason}${tries}`, { fault });
  const said = (apiKey ? detail.replaceAll(apiKey, "***") : detail).slice(0, 500);
  return new EnvironmentError(`the model ${reason}${tries}`, { fault, cause: new Error(said) });
}

/** Milliseconds from the header, which has seconds or a date. */
function retryAfter(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  if (value === null || value.trim() === "") return undefined;
  const ms = Number.isFinite(Number(value)) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** Resolves early when the signal aborts; the next attempt then fails at once. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, MAX_TIMER_MS));
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

function addressOf(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new RangeError(
      "url must be an address such as https://host/v1, without a user name or password; pass the key as apiKey.",
    );
  }
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`;
  return url.href;
}

function authorization(apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined || apiKey === "") return {};
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new RangeError("apiKey contains whitespace or other characters that are not allowed in a header.");
  }
  return { authorization: `Bearer ${apiKey}` };
}
