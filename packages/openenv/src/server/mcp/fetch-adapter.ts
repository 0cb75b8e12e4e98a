import type { IncomingMessage } from "node:http";
import { toWebRequest } from "@modelcontextprotocol/node";
import type { HttpRequest, HttpResponse } from "#parts/sockets";
import { sendResponse } from "../http/web-response.js";
import { acceptsOnlyEvents, EVENT_HEADERS, renderEvent } from "./event-stream.js";

/** One request with its parsed body, if it has one. */
export interface IncomingRequest {
  request: HttpRequest;
  response: HttpResponse;
  value: unknown;
}

type Fetch = (request: Request, options: { parsedBody: unknown }) => Promise<Response>;

/** What the SDK requires of every client. Many clients accept one of the two, or send nothing. */
const ACCEPT = "application/json, text/event-stream";

/**
 * Answers a Node request with a handler of the SDK. A stream ends when the client disconnects. A client that accepts only
 * events gets a JSON answer as one.
 */
export async function answerWith(fetch: Fetch, { request, response, value }: IncomingRequest): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  const webRequest = await toWebRequest(request as IncomingMessage & Named, value, { signal: gone.signal });
  if (request.method === "POST") webRequest.headers.set("accept", ACCEPT);
  const { status, headers, body } = await fetch(webRequest, { parsedBody: value });
  if (response.destroyed) return void body?.cancel();
  if (status === 200 && acceptsOnlyEvents(request.headers) && isJson(headers)) {
    const session = headers.get("mcp-session-id");
    response.writeHead(status, { ...EVENT_HEADERS, ...(session !== null && { "mcp-session-id": session }) });
    response.end(renderEvent(await new Response(body).text()));
    return;
  }
  await sendResponse(response, { status, headers, body }, gone.signal);
}

function isJson(headers: Headers): boolean {
  return headers.get("content-type")?.startsWith("application/json") === true;
}

/** In a server, a request always has both. */
type Named = { method: string; url: string };
