import { createHash, randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { parseAddress } from "../client/address.js";
import type { Exchange } from "./exchange.js";
import { createFrameReader, encodeFrame, OPCODE } from "./frames.js";

const CLOSE = encodeFrame(OPCODE.close, Buffer.from([0x03, 0xe8]));
/** The protocol's own close and then WebSocket's, in one go, as the clients of this protocol say goodbye. */
const GOODBYE = Buffer.concat([encodeFrame(OPCODE.text, Buffer.from('{"type":"close"}')), CLOSE]);
const END_OF_HEAD = "\r\n\r\n";
const MAX_HEAD = 16_384;
const CLOSE_TIMEOUT_MS = 10_000;

type Done = (failure: Error | undefined) => void;

/**
 * One session on `/ws` over a bare TCP socket: a load must cost less than what it measures, so there is no
 * WebSocket library here, no queue and one request at a time.
 */
export class RawSession {
  readonly #socket: Socket;
  readonly #closed: Promise<void>;
  #exchange: Exchange | undefined;
  #done: Done | undefined;
  #failure: Error | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the server closed the connection")));
    const read = createFrameReader((opcode, payload) => this.#receive(opcode, payload));
    socket.on("data", (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (error) {
        this.#fail(error as Error);
        socket.destroy();
      }
    });
  }

  /** Sends a request; `done` gets what was wrong with the answer, if anything. */
  ask(exchange: Exchange, done: Done): void {
    if (this.#failure === undefined) {
      this.#exchange = exchange;
      this.#done = done;
      this.#socket.write(exchange.frame);
    } else {
      done(this.#failure);
    }
  }

  /** Ends the session as a client does and waits until its connection is gone. */
  async close(): Promise<void> {
    if (this.#failure === undefined) {
      this.#failure = new Error("the session was closed");
      this.#socket.write(GOODBYE);
    } else {
      this.#socket.destroy();
    }
    const impatient = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    await this.#closed;
    clearTimeout(impatient);
  }

  /** Drops the connection at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #receive(opcode: number, payload: Buffer): void {
    if (opcode === OPCODE.text) {
      this.#answer(payload);
    } else if (opcode === OPCODE.ping) {
      this.#socket.write(encodeFrame(OPCODE.pong, payload));
    } else if (opcode === OPCODE.close && this.#failure === undefined) {
      this.#fail(new Error(`the server closed the session ${describeClose(payload)}`));
      this.#socket.end(CLOSE);
    }
  }

  #answer(payload: Buffer): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange === undefined) this.#fail(new Error("the server sent a message nobody asked for"));
    else this.#done?.(exchange.judge(payload));
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    if (this.#exchange === undefined) return;
    this.#exchange = undefined;
    this.#done?.(this.#failure);
  }
}

/**
 * Opens a session.
 * @throws Error when the server refuses the upgrade or cannot be reached.
 */
export function openRawSession(url: string): Promise<RawSession> {
  const target = new URL(parseAddress(url).socket({}));
  if (target.protocol !== "ws:") throw new Error(`a load speaks plain ws or http, not ${url}`);
  const key = randomBytes(16).toString("base64");
  return new Promise((resolve, reject) => {
    const socket = connect({ host: target.hostname, port: Number(target.port || 80), noDelay: true });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    const onClose = (): void => fail(new Error(`${url} closed the connection during the handshake`));
    let head = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(END_OF_HEAD);
      if (end < 0 && head.length > MAX_HEAD) fail(new Error(`${url} does not answer in HTTP`));
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      if (!isAccepted(text, key)) {
        fail(new Error(`${url} refused the upgrade: ${text.split("\r\n")[0]}`));
        return;
      }
      socket.off("data", onData).off("error", fail).off("close", onClose);
      const session = new RawSession(socket);
      const rest = head.subarray(end + END_OF_HEAD.length);
      if (rest.length > 0) socket.emit("data", rest);
      resolve(session);
    };
    socket.on("error", fail).on("close", onClose).on("data", onData);
    socket.write(
      `GET ${target.pathname}${target.search} HTTP/1.1\r\nHost: ${target.host}\r\nUpgrade: websocket\r\n` +
        `Connection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13${END_OF_HEAD}`,
    );
  });
}

function isAccepted(head: string, key: string): boolean {
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  return head.startsWith("HTTP/1.1 101") && head.includes(accept);
}

function describeClose(payload: Buffer): string {
  return payload.length < 2
    ? "without a code"
    : `with ${payload.readUInt16BE(0)} ${payload.toString("utf8", 2)}`.trim();
}
