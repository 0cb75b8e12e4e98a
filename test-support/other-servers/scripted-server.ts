import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

/** One connection of {@link startScriptedServer}. */
export interface ScriptedPeer {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** The next frame of the client, parsed; rejects when the client has gone. */
  receive(): Promise<Record<string, unknown>>;
  send(frame: unknown): void;
  /** Receives a frame and answers with an observation that contains it. */
  answer(fields?: Record<string, unknown>): Promise<void>;
  /** The close code, once the socket is closed. */
  readonly closed: Promise<number>;
}

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  /** The number of sockets that were opened. */
  readonly opened: number;
}

/**
 * A real server that sends exactly the frames of a test: `script` runs once for each socket on `/ws`; `routes` contains
 * the JSON bodies of its HTTP routes.
 */
export async function startScriptedServer(
  script: (peer: ScriptedPeer, nth: number) => Promise<void> | void,
  routes: Record<string, unknown> = {},
): Promise<ScriptedServer> {
  let opened = 0;
  const http = createServer((request, response) => {
    const body = routes[request.url ?? ""];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? { detail: "Not Found" }));
  });
  const sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket, request) => {
    opened++;
    // A script ends with its client: a missing frame is not a failure of the test.
    Promise.resolve(script(createPeer(socket, request), opened)).catch(() => {});
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    get opened() {
      return opened;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function createPeer(socket: WebSocket, request: IncomingMessage): ScriptedPeer {
  const frames: string[] = [];
  const waiting: ((text: string) => void)[] = [];
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  socket.on("message", (data) => {
    const next = waiting.shift();
    if (next) next(String(data));
    else frames.push(String(data));
  });
  const receive = (): Promise<Record<string, unknown>> =>
    new Promise((resolve, reject) => {
      const take = (text: string): void => resolve(JSON.parse(text) as Record<string, unknown>);
      const ready = frames.shift();
      if (ready !== undefined) return take(ready);
      waiting.push(take);
      void closed.then(() => reject(new Error("the client has gone")));
    });
  const send = (frame: unknown): void => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  return {
    socket,
    request,
    receive,
    send,
    closed,
    answer: async (fields = {}) => {
      const frame = await receive();
      send({
        type: "observation",
        data: { observation: { frame, metadata: {} }, reward: null, done: false, ...fields },
      });
    },
  };
}
