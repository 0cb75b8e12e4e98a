import type { Socket } from "node:net";
import { LoadFailure } from "../../failure.js";

export interface ReceivedResponse {
  status: number;
  /** The head as received, with header names in the server's case. */
  head: string;
  body: string;
}

const END_OF_HEAD = "\r\n\r\n";
const MAX_ANSWER = 16 * 1024 * 1024;

/**
 * Sends one request on an open connection and reads its response.
 * @throws LoadFailure for a response that is not HTTP, and when the connection ends before it is complete.
 */
export function requestHttp(socket: Socket, request: string): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const finish = (settle: () => void): void => {
      socket.off("data", onData).off("close", onClose).off("error", onError);
      settle();
    };
    const onError = (error: Error): void => finish(() => reject(error));
    const onClose = (): void => onError(new LoadFailure("CLOSED", "the server closed the connection"));
    const onData = (chunk: Buffer): void => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      try {
        const answer = readHttpResponse(received);
        if (answer !== undefined) finish(() => resolve(answer));
      } catch (error) {
        onError(error as Error);
      }
    };
    if (socket.destroyed) {
      reject(socket.errored ?? new LoadFailure("CLOSED", "the server closed the connection"));
      return;
    }
    socket.on("data", onData).on("close", onClose).on("error", onError);
    socket.write(request);
  });
}

/**
 * The response in these bytes; undefined while it is incomplete.
 * @throws LoadFailure PROTOCOL_ERROR for anything but an HTTP response with a length.
 */
export function readHttpResponse(received: Buffer): ReceivedResponse | undefined {
  if (received.length > MAX_ANSWER) throw broken("a response over 16 MiB");
  const end = received.indexOf(END_OF_HEAD);
  if (end < 0) return undefined;
  const head = received.toString("latin1", 0, end);
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1]);
  if (!Number.isInteger(status)) throw broken("something that is not an HTTP response");
  const body = received.subarray(end + END_OF_HEAD.length);
  if (/^chunked$/i.test(headerOf(head, "transfer-encoding") ?? "")) {
    const text = readChunks(body);
    return text === undefined ? undefined : { status, head, body: text };
  }
  const length = Number(headerOf(head, "content-length") ?? Number.NaN);
  if (!Number.isInteger(length)) throw broken("a response without a length");
  return body.length < length ? undefined : { status, head, body: body.toString("utf8", 0, length) };
}

/** The value of a header in a head. */
export function headerOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, "im").exec(head)?.[1];
}

function readChunks(body: Buffer): string | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = body.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(body.toString("latin1", at, line), 16);
    if (!(size >= 0)) throw broken("a chunk without a size");
    if (body.length < line + 2 + size + 2) return undefined;
    if (size === 0) return Buffer.concat(parts).toString();
    parts.push(body.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

function broken(what: string): LoadFailure {
  return new LoadFailure("PROTOCOL_ERROR", `the server sent ${what}`);
}
