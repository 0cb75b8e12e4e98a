import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { toWebRequest } from "@modelcontextprotocol/node";

/** One request with the value of its body, if it had one. */
export interface IncomingRequest {
  request: IncomingMessage;
  response: ServerResponse;
  value: unknown;
}

type Fetch = (request: Request, options: { parsedBody: unknown }) => Promise<Response>;

/** Has a handler of the SDK answer a request of Node. What it streams ends when the client leaves. */
export async function answerWith(fetch: Fetch, { request, response, value }: IncomingRequest): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  const asked = await toWebRequest(request as NodeRequest, value, { signal: gone.signal });
  const { status, headers, body } = await fetch(asked, { parsedBody: value });
  if (response.destroyed) return void body?.cancel();
  response.writeHead(status, Object.fromEntries(headers));
  if (body !== null) await stream(body, response, gone.signal);
  response.end();
}

/** What a server gets always has both. */
type NodeRequest = IncomingMessage & { method: string; url: string };

async function stream(body: ReadableStream<Uint8Array>, response: ServerResponse, gone: AbortSignal): Promise<void> {
  // What comes at once leaves in one write with the head; else the head is not kept waiting.
  const waiting = setImmediate(() => response.flushHeaders());
  const reader = body.getReader();
  gone.addEventListener("abort", () => void reader.cancel().catch(() => {}));
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    clearImmediate(waiting);
    if (!response.write(part.value)) await once(response, "drain", { signal: gone }).catch(() => {});
  }
}
