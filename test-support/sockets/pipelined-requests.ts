import { connect, type Socket } from "node:net";

/** Renders an HTTP/1.1 request for a keep-alive connection; a POST if there is a body. */
export function renderRequest(path: string, body?: object): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const head = `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\nHost: localhost\r\n`;
  const type =
    body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`;
  return `${head}${type}\r\n${text}`;
}

/** Adds an offer to continue in HTTP/2, as `curl --http2` makes it. */
export function offerHttp2(request: string): string {
  const offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n";
  return request.replace("\r\n\r\n", `\r\n${offer}\r\n`);
}

/** Sends requests on one connection without waiting for answers, as fast as the server reads them. */
export function pipelineRequests(port: number, requests: string | Iterable<string>): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  void (async () => {
    for (const part of typeof requests === "string" ? [requests] : requests) {
      if (socket.destroyed) return;
      if (!socket.write(part)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
    }
  })();
  return socket;
}
