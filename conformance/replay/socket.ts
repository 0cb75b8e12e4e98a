import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientOptions, WebSocket } from "ws";

/** Longer than any answer takes, and shorter than the timeout of a test. */
export const PATIENCE_MS = 20_000;

export interface Opened {
  /** HTTP status of a rejected upgrade. */
  refused?: number;
  headers: IncomingMessage["headers"];
  socket: ReplaySocket;
  /** The connection under the WebSocket. */
  stream: Socket;
}

/** Opens a WebSocket. A rejected upgrade is returned, not thrown. */
export function openSocket(url: string, options: ClientOptions = {}): Promise<Opened> {
  const ws = new WebSocket(url.replace(/^http/, "ws"), { perMessageDeflate: false, ...options });
  const socket = new ReplaySocket(ws);
  return new Promise((resolve, reject) => {
    ws.on("upgrade", (response) => resolve({ headers: response.headers, socket, stream: response.socket }));
    ws.on("unexpected-response", (request, response) => {
      request.destroy();
      resolve({ refused: response.statusCode ?? 0, headers: response.headers, socket, stream: response.socket });
    });
    ws.on("error", reject);
  });
}

/** A socket that queues incoming frames. */
export class ReplaySocket {
  readonly ws: WebSocket;
  /** Frames that have not been taken yet. */
  readonly frames: unknown[] = [];
  /** The close code, once the socket is closed. */
  code: number | undefined;
  readonly closed: Promise<number>;
  #wake = () => {};

  constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on("message", (data) => {
      this.frames.push(JSON.parse(String(data)));
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      ws.on("close", (code) => {
        this.code = code;
        resolve(code);
        this.#wake();
      });
    });
  }

  async send(data: string | Buffer): Promise<void> {
    if (this.ws.readyState === WebSocket.CONNECTING) await new Promise((resolve) => this.ws.once("open", resolve));
    this.ws.send(data, () => {});
  }

  /** Returns the next frames; fewer if the socket closes or on a timeout. */
  async take(count: number): Promise<unknown[]> {
    const late = sleep(PATIENCE_MS, "late", { ref: false });
    while (this.frames.length < count && this.code === undefined) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      if ((await Promise.race([woken, late])) === "late") break;
    }
    return this.frames.splice(0, count);
  }

  /** The code of a close by the server; undefined on a timeout. */
  closedByServer(): Promise<number | undefined> {
    return Promise.race([this.closed, sleep(PATIENCE_MS, undefined, { ref: false })]);
  }

  /** Closes the socket. Frames that arrived before are in `frames`. */
  async close(): Promise<void> {
    if (this.ws.readyState === WebSocket.CONNECTING) this.ws.terminate();
    else this.ws.close(1000);
    await this.closed;
  }
}
