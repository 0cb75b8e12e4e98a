import type { HttpResponse } from "#parts/sockets";
import { faultOfStatus, type ValidationIssue } from "../../errors.js";
import { STATUS } from "../../protocol/http.js";
import type { ErrorData } from "../../protocol/messages.js";
import { invalidMessage, serializeReply } from "../../session/messages/message-codec.js";
import type { Session } from "../../session/session.js";
import type { ServerContext } from "../context.js";

/** Bytes. Node sends an answer of this size together with its headers. */
const SMALL = 4 * 1024;

/** @throws SerializationError when the body has no JSON form or is too large; nothing has been sent then. */
export function sendJson(
  response: HttpResponse,
  status: number,
  body: object,
  maxBytes = Number.POSITIVE_INFINITY,
): void {
  sendText(response, status, { type: "application/json", text: serializeReply(body, maxBytes) });
}

export function sendText(
  response: HttpResponse,
  status: number,
  { type, text, headers }: { type: string; text: string; headers?: Record<string, string> },
): void {
  const bytes = Buffer.byteLength(text);
  const all: Record<string, string> = {
    "content-type": type,
    "content-length": String(bytes),
    "x-content-type-options": "nosniff",
  };
  // Spread, they would be an object that V8 reads slowly.
  for (const name in headers) all[name] = headers[name] as string;
  response.writeHead(status, all);
  // A large string that waits for the peer is held twice, because the system call has its own copy.
  const encoding = bytes === text.length ? "latin1" : "utf8";
  response.end(text.length < SMALL ? text : Buffer.from(text, encoding), encoding);
}

/** The Python package's body of 404 and 405. */
export function sendStatus(response: HttpResponse, status: 404 | 405, allow?: string): void {
  if (allow !== undefined) response.setHeader("allow", allow);
  sendDetail(response, status, status === 404 ? "Not Found" : "Method Not Allowed");
}

/** Answers an error without a code. */
export function sendDetail(response: HttpResponse, status: number, detail: string): void {
  sendJson(response, status, { detail, fault: faultOfStatus(status) });
}

/** The response, and the statistics that count it. */
export interface Answering {
  response: HttpResponse;
  context: Pick<ServerContext, "runtime">;
}

export function sendInvalid({ response, context }: Answering, detail: ValidationIssue[], session?: Session): void {
  const { data } = invalidMessage(detail);
  context.runtime.statistics.countError(data, session);
  sendJson(response, 422, { detail, fault: data.fault });
}

/** Answers a failure with its code and message; the Python package answers plain text. */
export function sendFailure(
  { response, context }: Answering,
  data: ErrorData,
  { session, status = STATUS[data.code] }: { session?: Session | undefined; status?: number } = {},
): void {
  const { message, ...rest } = data;
  context.runtime.statistics.countError(data, session);
  if (rest.code === "CAPACITY_REACHED") response.setHeader("retry-after", "1");
  sendJson(response, status, { detail: message, ...rest });
}
