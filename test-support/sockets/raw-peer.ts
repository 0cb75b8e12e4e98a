import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { encodeFrame, OPCODE } from "../../packages/bench/src/ws-codec.js";

/** A WebSocket by hand: nothing is read after the handshake, and nothing is answered, unless the test does it. */
export interface RawPeer {
  socket: Socket;
  send(...messages: object[]): void;
}

/** @param headers lines that end with a line break. */
export async function openRawPeer(url: string, path = "/ws", headers = ""): Promise<RawPeer> {
  const { host, port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
  );
  const [answer] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [unknown];
  if (!String(answer).startsWith("HTTP/1.1 101")) throw new Error(`no WebSocket: ${String(answer).split("\r\n")[0]}`);
  socket.pause();
  return {
    socket,
    send(...messages) {
      socket.write(
        Buffer.concat(messages.map((message) => encodeFrame(OPCODE.text, Buffer.from(JSON.stringify(message))))),
      );
    },
  };
}
