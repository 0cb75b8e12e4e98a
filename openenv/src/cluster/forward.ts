import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";

export interface Forwarded {
  request: IncomingMessage;
  response: ServerResponse;
  body: string;
}

/** Has the server at a local socket answer a request. One that is gone is an answer too: its sessions have ended. */
export function forwardRequest(path: string, { request, response, body }: Forwarded): void {
  const { method, url, headers } = request;
  const onward = httpRequest(
    // A connection of its own: one that is kept could be closed by the other side at the moment it is used again.
    { socketPath: path, agent: false, method, path: url, headers: onwardHeaders(headers, body) },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // A stream of events may have its first one much later.
      response.flushHeaders();
      answer.pipe(response);
      answer.once("error", () => response.destroy());
    },
  );
  onward.on("error", () => {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const detail = "the worker that had this session has ended; POST /reset without the session opens a new one";
    response.writeHead(404, { "content-type": "application/json" });
    response.end(JSON.stringify({ detail, code: "SESSION_ERROR" }));
  });
  response.once("close", () => onward.destroy());
  // Head and body in one write: the answer may come, and the connection close, before a second one is out.
  onward.end(body);
}

function onwardHeaders(headers: IncomingMessage["headers"], body: string): IncomingMessage["headers"] {
  const { connection: _own, "keep-alive": _too, "transfer-encoding": _chunked, ...onward } = headers;
  return { ...onward, "content-length": String(Buffer.byteLength(body)) };
}
