import { once } from "node:events";
import type { HttpResponse } from "#parts/sockets";

/** Sends a response of a `fetch` handler, part by part, until the client is `gone`. */
export async function sendResponse(
  response: HttpResponse,
  { status, headers, body }: Pick<Response, "status" | "headers" | "body">,
  gone: AbortSignal,
): Promise<void> {
  const cookies = headers.getSetCookie();
  response.writeHead(status, { ...Object.fromEntries(headers), ...(cookies.length > 1 && { "set-cookie": cookies }) });
  if (body !== null) await stream(body, response, gone);
  response.end();
}

async function stream(body: ReadableStream<Uint8Array>, response: HttpResponse, gone: AbortSignal): Promise<void> {
  // A body that is available at once is written together with the head; otherwise the head does not wait for it.
  const waiting = setImmediate(() => response.flushHeaders());
  const reader = body.getReader();
  gone.addEventListener("abort", () => void reader.cancel().catch(() => {}));
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    clearImmediate(waiting);
    if (!response.write(part.value)) await once(response, "drain", { signal: gone }).catch(() => {});
  }
}
