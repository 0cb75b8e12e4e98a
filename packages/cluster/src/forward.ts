import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { ForwardedRequest } from "#core/server/cluster.js";

/** Names the client in a forwarded request, which the local socket does not. Only workers can reach that socket. */
const CLIENT_HEADER = "openenv-client-address";

/** The error codes of a connection to a server that has ended. */
const GONE = ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"];

/** Forwards a request to the server at a local socket. If that server is gone, answers that its session has ended. */
export function forwardRequest(path: string, { request, response, body, named }: ForwardedRequest): void {
  const { method, url } = request;
  const onward = httpRequest(
    // A new connection: the other side could close a kept-alive connection at the moment it is used again.
    { socketPath: path, agent: false, method, path: url, headers: onwardHeaders(request, body) },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // The first event of a stream may come much later.
      response.flushHeaders();
      answer.pipe(response);
      answer.once("error", () => response.destroy());
    },
  );
  onward.on("error", ({ code = "" }: NodeJS.ErrnoException) => {
    if (response.headersSent) response.destroy();
    else if (named && GONE.includes(code)) sendGone(response);
    else sendBusy(response);
  });
  response.once("close", () => onward.destroy());
  // Head and body in one write: the answer may arrive, and the connection close, before a second write.
  onward.end(body);
}

/** The forwarded request with the address of its client, as `clientAddress` reads it. */
export function readForwarded(request: IncomingMessage): IncomingMessage {
  return Object.assign(request, { clientAddress: request.headers[CLIENT_HEADER] });
}

function sendGone(response: ServerResponse): void {
  const detail = "the worker of this session has ended; POST /reset without the session opens a new one";
  response.writeHead(404, { "content-type": "application/json" });
  response.end(JSON.stringify({ detail, code: "SESSION_ERROR", fault: "infrastructure" }));
}

function sendBusy(response: ServerResponse): void {
  const detail = "the worker of this session could not be reached; try again";
  response.writeHead(503, { "content-type": "application/json", "retry-after": "1" });
  response.end(JSON.stringify({ detail, code: "CAPACITY_REACHED", fault: "infrastructure" }));
}

function onwardHeaders(request: IncomingMessage, body: string): IncomingMessage["headers"] {
  const { connection: _own, "keep-alive": _too, "transfer-encoding": _chunked, ...onward } = request.headers;
  const address = request.socket.remoteAddress ?? "unknown";
  return { ...onward, "content-length": String(Buffer.byteLength(body)), [CLIENT_HEADER]: address };
}
