import type { ConnectionError } from "../../errors.js";
import { type BinaryCodec, loadBinary } from "../../protocol/codec/binary.js";
import { renderRequest } from "../../protocol/codec/codec.js";
import { parseJson } from "../../protocol/codec/json.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ReceivedMessage, Transport } from "../../protocol/transport.js";
import { isObject } from "../../util/is-object.js";
import { lostBecause, protocolError } from "../failures.js";
import { describeClose } from "./close-codes.js";
import { type OpenSocketOptions, openSocket, type Socket } from "./socket.js";

/** The type of the answer to a request, if it is not an error. */
const ANSWER_TYPES: Record<string, string> = {
  reset: "observation",
  step: "observation",
  state: "state",
  mcp: "mcp",
  resume: "resumed",
  open_many: "many",
  reset_many: "many",
  step_many: "many",
  state_many: "many",
  close_many: "many",
  fork_many: "many",
};
/** After these codes, the server closes the socket. */
const ENDING_CODES = ["CAPACITY_REACHED", "FACTORY_ERROR", "SESSION_ERROR", "SESSION_LOST"];

interface Pending {
  answerType: string | undefined;
  /** The number of a request of a resumable session. */
  seq: unknown;
  resolve(message: ReceivedMessage): void;
  reject(error: ConnectionError): void;
}

/**
 * One socket as a {@link Transport}: one request at a time, answers paired by position. A frame that is not an answer
 * closes it; so does `close` while an answer is pending, because the next answer would be the wrong one.
 */
export async function openConnection(url: string, options: OpenSocketOptions): Promise<Transport> {
  let socket: Socket | undefined;
  let pending: Pending | undefined;
  /** A frame or an error that arrived without a request: the next request receives it. */
  let kept: ReceivedMessage | ConnectionError | undefined;
  /** Why the socket can no longer be used. */
  let ended: string | undefined;
  /** Set once the server has confirmed binary frames and their codec is loaded. */
  let codec: BinaryCodec | undefined;
  let loading: Promise<void> | undefined;
  let closeCode: number | undefined;
  let sessionHeader: string | undefined;
  /** True when the socket has begun with `resume`. */
  let resumes = false;
  /** True when anything has arrived since the last ping. */
  let heard = true;
  let beating: ReturnType<typeof setInterval> | undefined;

  const end = (reason: string, error?: ConnectionError): void => {
    if (ended !== undefined) return;
    ended = reason;
    socket?.drop();
    settle()?.reject(error ?? lostBecause(reason));
  };

  const settle = (): Pending | undefined => {
    const settled = pending;
    pending = undefined;
    clearInterval(beating);
    return settled;
  };

  /** A network that is gone reports nothing: while a request waits, its peer must answer pings. */
  const beat = (): void => {
    if (!heard) return end("the server does not answer pings");
    heard = false;
    socket?.ping?.();
  };

  const violate = (what: string): void => {
    const error = protocolError(`it sent ${what}`);
    if (!pending) kept = error;
    end(`the server sent ${what}`, error);
  };

  /** If the codec cannot be loaded, frames stay text. */
  const goBinary = async (): Promise<void> => {
    codec = await loadBinary().catch(() => undefined);
    loading = undefined;
  };

  const deliver = (message: ReceivedMessage): void => {
    if (options.binary && message.openenv?.extensions?.includes("binary")) loading = goBinary();
    const code = message.type === "error" ? String(message.data["code"]) : "";
    const asked = settle();
    const isLast = !asked || ENDING_CODES.includes(code);
    if (asked) asked.resolve(message);
    else kept = message;
    if (isLast) end(`the server ended it with ${code}`);
  };

  const receive = (data: unknown): void => {
    if (ended !== undefined) return;
    heard = true;
    const message = parseMessage(data, codec);
    if (typeof message === "string") violate(message);
    else if (resumes && isRepeated(message, pending)) return;
    else if (message.type === "error" || message.type === pending?.answerType) deliver(message);
    else violate(`a frame "${message.type}" when ${pending ? `"${pending.answerType}"` : "nothing"} was expected`);
  };

  const ask = (message: JsonObject): Promise<ReceivedMessage> =>
    new Promise((resolve, reject) => {
      if (kept) {
        const first = kept;
        kept = undefined;
        return first instanceof Error ? reject(first) : resolve(first);
      }
      if (ended !== undefined) return reject(lostBecause(ended));
      if (pending) return reject(new TypeError("a connection sends one request at a time"));
      const frame = codec ? renderRequest(message, codec.encode) : renderRequest(message);
      const { type, seq } = message;
      resumes ||= type === "resume";
      pending = { answerType: ANSWER_TYPES[String(type)], seq, resolve, reject };
      socket?.send(frame);
      if (options.pingIntervalMs === undefined || socket?.ping === undefined) return;
      heard = true;
      beating = setInterval(beat, options.pingIntervalMs);
    });

  const closed = (code: number, why: string): void => {
    closeCode = code;
    end(describeClose(code, why));
  };

  const close = async (): Promise<void> => {
    if (pending) return end("the client closed it before the answer arrived");
    if (ended !== undefined) return;
    ended = "the client closed it";
    socket?.send('{"type":"close"}');
    closeCode = await socket?.close();
  };

  const pong = (): void => {
    heard = true;
  };
  const named = (header: string): void => {
    sessionHeader = header;
  };
  socket = await openSocket(url, { message: receive, close: closed, pong, named }, options);
  if (ended !== undefined) socket.drop();
  return {
    get open() {
      return ended === undefined || kept !== undefined;
    },
    get closeCode() {
      return closeCode;
    },
    sessionHeader,
    request: (message) => (loading ? loading.then(() => ask(message)) : ask(message)),
    close,
  };
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
