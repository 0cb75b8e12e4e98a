import type { Fault } from "openenv-ts";
import type { HostRequest } from "../host.js";

type Answer = HostRequest["response"];

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};
/** The client gives up after 30 s without a byte. */
const PING_MS = 10_000;
const MAX_CHUNK = 4_096;

/** The outcome of a task: JSON for the client, or the reason why there is none. */
export type TaskOutcome = { json: string } | { error: string; fault?: Fault };

/** Answers with the id alone. */
export function sendId(response: Answer, id: string): void {
  sendAll(response, renderEvent("task_id", id) + renderEvent("end", ""));
}

/**
 * Answers with the id of a task, and with its outcome when it comes: in one piece if it comes at once, else with comments
 * that keep the connection open. Returns false if the connection was lost before.
 */
export async function sendTask(response: Answer, id: string, task: Promise<TaskOutcome>): Promise<boolean> {
  let pings: NodeJS.Timeout | undefined;
  const first = renderEvent("task_id", id);
  const begin = setImmediate(() => {
    if (response.closed) return;
    response.writeHead(200, HEADERS).write(first);
    pings = setInterval(() => response.write(": ping\n\n"), PING_MS);
    response.once("close", () => clearInterval(pings));
  });
  const rest = renderOutcome(await task);
  clearImmediate(begin);
  clearInterval(pings);
  if (response.closed) return false;
  if (response.headersSent) response.end(rest);
  else sendAll(response, first + rest);
  return true;
}

/** An outcome without a task: an error of the standard, whose text a client may compare. */
export function sendError(response: Answer, error: string): void {
  sendAll(response, renderOutcome({ error }));
}

function sendAll(response: Answer, text: string): void {
  response.writeHead(200, { ...HEADERS, "content-length": Buffer.byteLength(text) }).end(text);
}

function renderOutcome(outcome: TaskOutcome): string {
  if ("error" in outcome) {
    // The event is one line of text, which a client raises as it is.
    const line = outcome.error.replace(/\s*[\r\n]+\s*/g, " ");
    return renderEvent("error", outcome.fault === undefined ? line : `${line} (fault: ${outcome.fault})`);
  }
  const chunks = chunk(outcome.json);
  return chunks.map((data, at) => renderEvent(at < chunks.length - 1 ? "chunk" : "end", data)).join("");
}

function renderEvent(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/**
 * The pieces of a JSON text. The client drops white space at the start of a piece, so that is written as an escape: in
 * compact JSON it is always inside a string. A pair of surrogates stays together.
 */
function chunk(json: string): string[] {
  if (json.length <= MAX_CHUNK) return [json];
  const chunks: string[] = [];
  let at = 0;
  while (at < json.length) {
    const first = json[at] as string;
    const head = SPACE.test(first) ? `\\u${first.charCodeAt(0).toString(16).padStart(4, "0")}` : first;
    let end = at + 1 + MAX_CHUNK - head.length;
    if (end < json.length && isLowSurrogate(json.charCodeAt(end))) end--;
    chunks.push(head + json.slice(at + 1, end));
    at = end;
  }
  return chunks;
}

/** What Python's `str.lstrip` drops. Control characters below U+0020 are escaped in JSON. */
const SPACE = /[\s\u0085]/;

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
