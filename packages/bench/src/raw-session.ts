import { createHash, randomBytes } from "node:crypto";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { parseAddress } from "openenv-ts/internal";
import { readAnswer } from "./answer.js";
import { LoadFailure } from "./failure.js";
import { createFrameReader, encodeFrame, OPCODE } from "./ws-codec.js";

const CLOSE = encodeFrame(OPCODE.close, Buffer.from([0x03, 0xe8]));
/** The protocol's own close and then WebSocket's, in one go, as the clients of this protocol say goodbye. */
const GOODBYE = Buffer.concat([encodeFrame(OPCODE.text, Buffer.from('{"type":"close"}')), CLOSE]);
const END_OF_HEAD = "\r\n\r\n";
const MAX_HEAD = 16_384;
/** One for all: its answer need not be computed again for every connection, and no cache is there to be fooled. */
const KEY = randomBytes(16).toString("base64");
const ACCEPT = createHash("sha1").update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
const CLOSE_TIMEOUT_MS = 10_000;

type Done = (failure: Error | undefined) => void;

/** A frame to send, and what is wrong with what comes back. */
export interface PendingRequest {
  readonly frame: Buffer;
  judge(answer: Buffer): Error | undefined;
}

/**
 * One session on `/ws` over a bare TCP socket: a load must cost less than what it measures, so there is no
 * WebSocket library here, no queue and one request at a time.
 */
export class RawSession {
  readonly #socket: Socket;
  readonly #closed: Promise<void>;
  #question: PendingRequest | undefined;
  #done: Done | undefined;
  #failure: Error | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(closedEarly()));
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
  ask(question: PendingRequest, done: Done): void {
    if (this.#failure === undefined) {
      this.#question = question;
      this.#done = done;
      this.#socket.write(question.frame);
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
      this.#fail(describeClose(payload));
      this.#socket.end(CLOSE);
    }
  }

  #answer(payload: Buffer): void {
    const question = this.#question;
    this.#question = undefined;
    if (question === undefined) this.#fail(unasked(payload));
    else this.#done?.(question.judge(payload));
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    if (this.#question === undefined) return;
    this.#question = undefined;
    this.#done?.(this.#failure);
  }
}

/** A server, read once for all sessions that are opened on it. */
export interface ConnectTarget {
  readonly url: string;
  readonly secure: boolean;
  /** What is connected to. */
  readonly address: string;
  readonly hostname: string;
  readonly port: number;
  /** The line of the header that carries the client's token; empty without one. */
  readonly authorization: string;
  /** The request for a WebSocket. */
  readonly upgrade: string;
}

/**
 * Reads the URL of a server; with its address nothing is looked up any more. The token is sent with every request.
 * @throws ConnectionError when it is no URL of a server.
 */
export function readTarget(url: string, address?: string, token?: string): ConnectTarget {
  const { protocol, hostname, port, host, pathname, search } = new URL(parseAddress(url).socket({}));
  const secure = protocol === "wss:";
  const name = hostname.replace(/^\[|\]$/g, "");
  const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
  return {
    url,
    secure,
    address: address ?? name,
    hostname: name,
    port: Number(port || (secure ? 443 : 80)),
    authorization,
    upgrade:
      `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${authorization}Upgrade: websocket\r\n` +
      `Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}${END_OF_HEAD}`,
  };
}

/** Starts a connection, from `localAddress` where one is given. */
export function connectSocket({ secure, address, hostname, port }: ConnectTarget, localAddress?: string): Socket {
  const options = { host: address, port, noDelay: true, ...(localAddress !== undefined && { localAddress }) };
  return secure ? connectSecurely({ ...options, servername: isIP(hostname) ? "" : hostname }) : connect(options);
}

/**
 * Opens a session on a connection that was started.
 * @throws LoadFailure when the server refuses the upgrade, and the socket's own error when it cannot be reached.
 */
export function openRawSession(target: ConnectTarget, socket = connectSocket(target)): Promise<RawSession> {
  const { url } = target;
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    const onClose = (): void => fail(new LoadFailure("CLOSED", `${url} closed the connection during the handshake`));
    let head: Buffer = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const end = head.indexOf(END_OF_HEAD);
      if (end < 0 && head.length > MAX_HEAD) fail(new LoadFailure("PROTOCOL_ERROR", `${url} does not answer in HTTP`));
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      if (!text.startsWith("HTTP/1.1 101") || !text.includes(ACCEPT)) {
        const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
        const type = status === undefined ? "PROTOCOL_ERROR" : `UPGRADE_${status}`;
        fail(new LoadFailure(type, `${url} refused the upgrade: ${text.split("\r\n")[0]}`));
        return;
      }
      socket.off("data", onData).off("error", fail).off("close", onClose);
      const session = new RawSession(socket);
      const rest = head.subarray(end + END_OF_HEAD.length);
      if (rest.length > 0) socket.emit("data", rest);
      resolve(session);
    };
    socket.on("error", fail).on("close", onClose).on("data", onData);
    socket.write(target.upgrade);
  });
}

function describeClose(payload: Buffer): LoadFailure {
  if (payload.length < 2) return new LoadFailure("CLOSED", "the server closed the session without a code");
  const code = payload.readUInt16BE(0);
  const reason = `the server closed the session with ${code} ${payload.toString("utf8", 2)}`.trim();
  return new LoadFailure(`CLOSED_${code}`, reason);
}

function closedEarly(): LoadFailure {
  return new LoadFailure("CLOSED", "the server closed the connection");
}

/** A full server says so before it was asked anything. */
function unasked(payload: Buffer): LoadFailure {
  const answer = readAnswer(payload);
  if (answer instanceof LoadFailure && answer.type !== "PROTOCOL_ERROR") return answer;
  return new LoadFailure("PROTOCOL_ERROR", "the server sent a message nobody asked for");
}
