import type { ConnectionError } from "../../errors.js";
import { type BinaryCodec, loadBinary } from "../../protocol/codec/binary.js";
import { renderRequest } from "../../protocol/codec/codec.js";
import { parseJson } from "../../protocol/codec/json.js";
import { type ClientMessage, FRAMES, type JsonObject } from "../../protocol/messages.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { isObject } from "../../util/is-object.js";
import { lostBecause, protocolError } from "../failures.js";
import { type OpenSocketOptions, openSocket, type Socket, type SocketHandlers } from "./socket.js";

/** After these codes, the server closes the socket. */
const ENDING_CODES = ["CAPACITY_REACHED", "FACTORY_ERROR", "SESSION_ERROR", "SESSION_LOST"];

interface Pending {
  answerType: string | undefined;
  /** The number of a request of a resumable session. */
  seq: unknown;
  resolve(message: ReceivedMessage): void;
  reject(error: ConnectionError): void;
}

/** Opens a socket as a {@link Transport}. @throws ConnectionError CONNECTION_FAILED or ABORTED. */
export function openConnection(url: string, options: OpenSocketOptions): Promise<Transport> {
  return openSocket(url, options, (socket) => new Connection(socket, options));
}

/**
 * One request at a time, answers paired by position. A frame that is not an answer closes the socket; so does `close`
 * while an answer is pending, because the next answer would be the wrong one.
 */
class Connection implements Transport, SocketHandlers {
  closeCode: number | undefined;
  readonly sessionHeader: string | undefined;
  readonly #socket: Socket;
  readonly #options: OpenSocketOptions;
  #pending: Pending | undefined;
  /** A frame or an error that arrived without a request: the next request receives it. */
  #kept: ReceivedMessage | ConnectionError | undefined;
  /** Why the socket can no longer be used. */
  #ended: string | undefined;
  /** Set once the server has confirmed binary frames and their codec is loaded. */
  #codec: BinaryCodec | undefined;
  #loading: Promise<BinaryCodec | undefined> | undefined;
  /** The server has confirmed that it can cancel requests. */
  #canCancel = false;
  /** True when the socket has begun with `resume`. */
  #resumes = false;
  /** True when anything has arrived since the last ping. */
  #heard = true;
  #beating: ReturnType<typeof setInterval> | undefined;

  constructor(socket: Socket, options: OpenSocketOptions) {
    this.sessionHeader = socket.sessionHeader;
    this.#socket = socket;
    this.#options = options;
  }

  get open(): boolean {
    return this.#ended === undefined || this.#kept !== undefined;
  }

  request(message: JsonObject): Promise<ReceivedMessage> {
    if (!this.#loading) return this.#ask(message);
    return this.#loading.then((codec) => {
      this.#codec = codec;
      this.#loading = undefined;
      return this.#ask(message);
    });
  }

  cancel(): boolean {
    if (!this.#canCancel) return false;
    const send = (): void => {
      if (this.#pending === undefined) return;
      const { seq } = this.#pending;
      this.#socket.send(JSON.stringify({ type: "cancel", ...(seq !== undefined && { data: { seq } }) }));
    };
    // A request waits for the codec.
    if (this.#loading) void this.#loading.then(send);
    else send();
    return true;
  }

  async close(): Promise<void> {
    if (this.#pending) return this.#end("the client closed it before the answer arrived");
    if (this.#ended !== undefined) return;
    this.#ended = "the client closed it";
    this.#socket.send('{"type":"close"}');
    this.closeCode = await this.#socket.close();
  }

  onMessage(data: unknown): void {
    if (this.#ended !== undefined) return;
    this.#heard = true;
    const message = parseMessage(data, this.#codec);
    const expected = this.#pending?.answerType;
    if (typeof message === "string") this.#violate(message);
    else if (this.#resumes && isRepeated(message, this.#pending)) return;
    else if (message.type === "error" || message.type === expected) this.#deliver(message);
    else this.#violate(`a frame "${message.type}" when ${this.#pending ? `"${expected}"` : "nothing"} was expected`);
  }

  onClose(code: number, reason: string): void {
    this.closeCode = code;
    this.#end(reason);
  }

  onPong(): void {
    this.#heard = true;
  }

  #ask(message: JsonObject): Promise<ReceivedMessage> {
    return new Promise((resolve, reject) => {
      if (this.#kept) {
        const first = this.#kept;
        this.#kept = undefined;
        return first instanceof Error ? reject(first) : resolve(first);
      }
      if (this.#ended !== undefined) return reject(lostBecause(this.#ended));
      if (this.#pending) return reject(new TypeError("a connection sends one request at a time"));
      const frame = renderRequest(message, this.#codec?.encode);
      const { type, seq } = message;
      this.#resumes ||= type === "resume";
      this.#pending = { answerType: answerTypeOf(String(type)), seq, resolve, reject };
      this.#socket.send(frame);
      const { pingIntervalMs } = this.#options;
      if (pingIntervalMs === undefined || !this.#socket.ping) return;
      this.#heard = true;
      // A network that is gone reports nothing: while a request waits, its peer must answer pings.
      this.#beating = setInterval(() => {
        if (!this.#heard) return this.#end("the server does not answer pings");
        this.#heard = false;
        this.#socket.ping?.();
      }, pingIntervalMs);
    });
  }

  #deliver(message: ReceivedMessage): void {
    this.#canCancel ||= message.openenv?.extensions?.includes("cancel") === true;
    if (this.#options.binary && message.openenv?.extensions?.includes("binary")) {
      // If the codec cannot be loaded, frames stay text.
      this.#loading = loadBinary().catch(() => undefined);
    }
    const code = message.type === "error" ? String(message.data["code"]) : "";
    const asked = this.#settle();
    if (asked) asked.resolve(message);
    else this.#kept = message;
    if (!asked || ENDING_CODES.includes(code)) this.#end(`the server ended it with ${code}`);
  }

  #violate(what: string): void {
    const error = protocolError(`it sent ${what}`);
    if (!this.#pending) this.#kept = error;
    this.#end(`the server sent ${what}`, error);
  }

  #end(reason: string, error?: ConnectionError): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#socket.drop();
    this.#settle()?.reject(error ?? lostBecause(reason));
  }

  #settle(): Pending | undefined {
    const settled = this.#pending;
    this.#pending = undefined;
    clearInterval(this.#beating);
    return settled;
  }
}

/** The type of the answer to a request, if it is not an error. */
function answerTypeOf(type: string): string | undefined {
  if (Object.hasOwn(FRAMES, type)) return FRAMES[type as ClientMessage["type"]].answer;
  return type === "resume" ? "resumed" : "many";
}

/** An answer that arrives twice on its way: that of a request before the one that waits. */
function isRepeated({ type, seq }: ReceivedMessage, pending: Pending | undefined): boolean {
  return seq === undefined ? type === "resumed" && pending?.answerType !== "resumed" : seq !== pending?.seq;
}

/** Returns the frame, or a description of what is wrong with it. */
function parseMessage(data: unknown, codec: BinaryCodec | undefined): ReceivedMessage | string {
  let message: unknown;
  try {
    if (typeof data === "string") message = parseJson(data);
    else if (codec === undefined) return "a binary frame";
    else message = codec.decode(data instanceof ArrayBuffer ? new Uint8Array(data) : (data as Uint8Array)).value;
  } catch (error) {
    return `a frame that cannot be read (${(error as Error).message})`;
  }
  if (!isObject(message) || typeof message["type"] !== "string") return "a frame without a type";
  if (!isObject(message["data"])) return `a frame "${message["type"]}" without data`;
  return message as unknown as ReceivedMessage;
}
