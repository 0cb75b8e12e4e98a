import { once } from "node:events";
import { WebSocket } from "ws";

type Json = Record<string, unknown>;

/** A plain WebSocket for tests: frames in order, and how it closed. */
export interface TestSocket extends AsyncDisposable {
  ws: WebSocket;
  send(...messages: (Json | string | Buffer)[]): void;
  /** The next frame. Fails when the socket closes instead. */
  receive(): Promise<Json>;
  /** Sends a message and returns one answer. */
  ask(message: Json | string | Buffer): Promise<Json>;
  closed: Promise<{ code: number; reason: string }>;
}

export async function openTestSocket(
  url: string,
  options: { headers?: Record<string, string>; autoPong?: boolean } = {},
): Promise<TestSocket> {
  const ws = new WebSocket(url.replace(/^http/, "ws"), { ...options, perMessageDeflate: false });
  const frames: Json[] = [];
  const waiting: ((frame: Json) => void)[] = [];
  ws.on("message", (data) => {
    const frame = JSON.parse(String(data)) as Json;
    const next = waiting.shift();
    if (next) next(frame);
    else frames.push(frame);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await once(ws, "open");
  ws.on("error", () => {});
  const socket: TestSocket = {
    ws,
    closed,
    send(...messages) {
      for (const message of messages) {
        ws.send(typeof message === "string" || Buffer.isBuffer(message) ? message : JSON.stringify(message));
      }
    },
    receive() {
      const frame = frames.shift();
      if (frame) return Promise.resolve(frame);
      return new Promise((resolve, reject) => {
        waiting.push(resolve);
        void closed.then(({ code, reason }) => reject(new Error(`the socket closed with ${code} ${reason}`)));
      });
    },
    async ask(message) {
      socket.send(message);
      return await socket.receive();
    },
    async [Symbol.asyncDispose]() {
      ws.terminate();
      await closed;
    },
  };
  return socket;
}
