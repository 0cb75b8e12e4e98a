import { connect, type Socket } from "node:net";

/** One HTTP/1.1 request as bytes on a keep-alive connection; a POST when there is a body. */
export function renderRequest(path: string, body?: object): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const head = `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\nHost: localhost\r\n`;
  const type =
    body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`;
  return `${head}${type}\r\n${text}`;
}

/** A connection on which requests are sent one after the other without waiting, as fast as the server takes them. */
export function pipelineRequests(port: number, requests: string | Iterable<string>): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  void (async () => {
    for (const part of typeof requests === "string" ? [requests] : requests) {
      if (socket.destroyed) return;
      if (!socket.write(part)) await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
    }
  })();
  return socket;
}
