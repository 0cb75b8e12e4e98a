import type { Duplex } from "node:stream";

/** Answers an upgrade request with an HTTP status, such as `403 Forbidden`, and a reason. */
export function rejectUpgrade(socket: Duplex, status: string, reason: string): void {
  socket.on("error", () => socket.destroy());
  const scheme = status.startsWith("401") ? "WWW-Authenticate: Bearer\r\n" : "";
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\n${scheme}`;
  // A peer that keeps its side open would keep the server from closing.
  socket.once("finish", () => socket.destroy());
  socket.end(`${head}Content-Length: ${Buffer.byteLength(reason)}\r\n\r\n${reason}`);
}
