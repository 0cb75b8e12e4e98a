import { createHash, randomBytes } from "node:crypto";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { parseAddress } from "openenv-ts/internal";
import { readAnswer } from "./answer.js";
import { LoadFailure } from "./failure.js";
import { createFrameReader, encodeFrame, OPCODE } from "./ws-codec.js";

const CLOSE = encodeFrame(OPCODE.close, Buffer.from([0x03, 0xe8]));
/** The close frame of the protocol and then that of WebSocket, in one write, as real clients do. */
const GOODBYE = Buffer.concat([encodeFrame(OPCODE.text, Buffer.from('{"type":"close"}')), CLOSE]);
const END_OF_HEAD = "\r\n\r\n";
const MAX_HEAD = 16_384;
/** One key for all connections, so that the response need not be computed again; there is no cache to protect from. */
const KEY = randomBytes(16).toString("base64");
const ACCEPT = createHash("sha1").update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
const CLOSE_TIMEOUT_MS = 10_000;

type Done = (failure: Error | undefined) => void;

/** A frame to send, and a check of its response. */
export interface PendingRequest {
  readonly frame: Buffer;
  judge(answer: Buffer): Error | undefined;
}

/**
 * One session on `/ws` over a plain TCP socket. A load must cost less than what it measures, so this uses no WebSocket
 * library and no queue, and sends one request at a time.
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

  /** Sends a request; `done` gets the problem of the response, if any. */
  ask(question: PendingRequest, done: Done): void {
    if (this.#failure === undefined) {
      this.#question = question;
      this.#done = done;
      this.#socket.write(question.frame);
    } else {
      done(this.#failure);
    }
  }

  /** Closes the session like a client and waits until its connection is closed. */
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

/** The parsed URL of a server, for all sessions on it. */
export interface ConnectTarget {
  readonly url: string;
  readonly secure: boolean;
  /** Host and port to connect to. */
  readonly address: string;
  readonly hostname: string;
  readonly port: number;
  /** The header line with the client token; empty without one. */
  readonly authorization: string;
  /** The upgrade request. */
  readonly upgrade: string;
}

/**
 * Parses the URL of a server. With its address no name is resolved later. The token is sent with every request.
 * @throws ConnectionError for an invalid URL.
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

/** Starts a connection, from `localAddress` if given. */
export function connectSocket({ secure, address, hostname, port }: ConnectTarget, localAddress?: string): Socket {
  const options = { host: address, port, noDelay: true, ...(localAddress !== undefined && { localAddress }) };
  return secure ? connectSecurely({ ...options, servername: isIP(hostname) ? "" : hostname }) : connect(options);
}

/**
 * Opens a session on a started connection.
 * @throws LoadFailure when the server rejects the upgrade, and the socket's error when it cannot be reached.
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
      if (end < 0 && head.length > MAX_HEAD)
        fail(new LoadFailure("PROTOCOL_ERROR", `${url} does not answer with HTTP`));
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      if (!text.startsWith("HTTP/1.1 101") || !text.includes(ACCEPT)) {
        const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
        const type = status === undefined ? "PROTOCOL_ERROR" : `UPGRADE_${status}`;
        fail(new LoadFailure(type, `${url} rejected the upgrade: ${text.split("\r\n")[0]}`));
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

/** A full server sends its error before the first request. */
function unasked(payload: Buffer): LoadFailure {
  const answer = readAnswer(payload);
  if (answer instanceof LoadFailure && answer.type !== "PROTOCOL_ERROR") return answer;
  return new LoadFailure("PROTOCOL_ERROR", "the server sent an unexpected message");
}
