import type { IncomingHttpHeaders } from "node:http";
import type { HttpResponse } from "#parts/sockets";
import { reportProgress } from "../../protocol/progress.js";

export function acceptsEvents({ accept = "" }: IncomingHttpHeaders): boolean {
  return accept.includes("text/event-stream");
}

/** A client that accepts a stream of events and no JSON. */
export function acceptsOnlyEvents({ accept = "" }: IncomingHttpHeaders): boolean {
  return accept.includes("text/event-stream") && !/application\/(json|\*)|\*\/\*/.test(accept);
}

export const EVENT_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

/** A message of JSON-RPC as an event. */
export function renderEvent(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}

/** Ends the stream with a message, or without one for a call that its client has cancelled. Only the first call counts. */
export type EndStream = (json?: string) => void;

/**
 * Begins to answer a long call: sends the headers at once, and a notification of progress from time to time, in seconds
 * since the call began.
 */
export function streamProgress(
  response: HttpResponse,
  progressToken: string | number,
  headers: Record<string, string>,
): EndStream {
  let isOver = false;
  response.writeHead(200, { ...EVENT_HEADERS, ...headers }).flushHeaders();
  const endReports = reportProgress((progress) => {
    const params = { progressToken, progress };
    response.write(renderEvent(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })));
  });
  const stop = (): void => {
    isOver = true;
    endReports();
  };
  response.once("close", stop);
  return (json) => {
    if (isOver) return;
    stop();
    if (json === undefined) response.end();
    else response.end(renderEvent(json));
  };
}
