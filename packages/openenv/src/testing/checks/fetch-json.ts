import { ConnectionError } from "../../errors.js";

/** An answer of any status; `body` is undefined for what is no JSON. */
export interface JsonResponse {
  status: number;
  body: unknown;
}

export interface FetchOptions {
  headers: Record<string, string>;
  /** Milliseconds for the whole answer. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** No route that is checked has more to tell. Bytes. */
const MAX_BODY = 1024 * 1024;

/**
 * GETs JSON, or POSTs `body`, as a careful stranger does: uncompressed, without following anywhere, not more than 1 MiB.
 * @throws ConnectionError when there is no such answer.
 */
export async function fetchJson(url: string, options: FetchOptions, body?: unknown): Promise<JsonResponse> {
  const { headers, timeoutMs, signal } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  const content = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const response = await fetch(url, {
      ...content,
      headers: {
        ...headers,
        "accept-encoding": "identity",
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    return { status: response.status, body: parse(await readText(response, url)) };
  } catch (cause) {
    if (cause instanceof ConnectionError) throw cause;
    if (signal?.aborted) throw new ConnectionError("ABORTED", `${url}: the request was aborted.`, { cause });
    if (timeout.aborted) {
      throw new ConnectionError("CLIENT_TIMEOUT", `${url}: no answer within ${timeoutMs} ms.`, { cause });
    }
    const inner = (cause as Error).cause;
    const reason = inner instanceof Error ? inner.message || inner.name : (cause as Error).message;
    throw new ConnectionError(
      "CONNECTION_FAILED",
      `No answer from ${url} (${reason}); check the URL and that the server runs.`,
      { cause },
    );
  }
}

async function readText(response: Response, url: string): Promise<string> {
  const encoding = response.headers.get("content-encoding") ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity") {
    await response.body?.cancel();
    throw new ConnectionError(
      "PROTOCOL_ERROR",
      `${url} was answered compressed (${encoding}), which was not asked for.`,
    );
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BODY) throw new ConnectionError("PROTOCOL_ERROR", `${url} answered more than ${MAX_BODY} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
