import { forkRequest } from "../../protocol/bodies.js";
import { type BinaryCodec, loadBinary, loadedBinary } from "../../protocol/codec/binary.js";
import { parseJson } from "../../protocol/codec/json.js";
import type { ForkRequest } from "../../protocol/http.js";
import type { Extension, JsonObject } from "../../protocol/messages.js";
import type { Batch } from "../../session/batch.js";
import type { SessionCallOptions } from "../../session/calls/call.js";
import { answerMcp } from "../../session/doors/rpc.js";
import { forbidden } from "../../session/failure.js";
import { checkMessage, errorMessage, explainUnreadable, invalidMessage } from "../../session/messages/message-codec.js";
import { keepText } from "../../session/messages/received-text.js";
import {
  type AddressUse,
  type Frame,
  type ReceivedFrame,
  type ResumeFrames,
  type Withheld,
  withoutKeeper,
} from "../../session/registry/session-keeper.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import type { Eventual } from "../../util/types.js";
import { parseInput } from "../../validation/parse-input.js";
import { answerBatch, checkBatchFrame, isBatchMessage } from "./batch-protocol.js";
import { byteFields, createByteReader } from "./byte-fields.js";
import {
  binaryPartsWriter,
  binaryWriter,
  type EncodeReply,
  type Reply,
  ReplyRenderer,
  type SentReply,
  textPartsWriter,
  writePassed,
  writeText,
} from "./encode-reply.js";
import type { ConnectionContext, SocketProtocol } from "./protocol.js";

type Answer = ReturnType<SocketProtocol["answer"]>;

/** The protocol of `/ws`. */
export class SessionProtocol implements SocketProtocol {
  readonly client = "websocket";
  readonly #runtime: Runtime;
  readonly #sessions: Sessions;
  readonly #renderer: ReplyRenderer;
  /** The options of a frame, by the extensions of its socket. */
  readonly #options = new Map<string, SessionCallOptions>();
  readonly #write: EncodeReply<string>;
  readonly #writeParts: ReturnType<typeof textPartsWriter>;
  /** Messages and answers keep their text. */
  readonly #passesOn: boolean;
  /** Loaded with the first binary frame. */
  #codec: BinaryCodec | undefined;
  #readBytes: ReturnType<typeof createByteReader> | undefined;
  #byteFields: Set<string> | undefined;

  constructor(runtime: Runtime, sessions: Sessions) {
    this.#runtime = runtime;
    this.#sessions = sessions;
    this.#renderer = new ReplyRenderer(runtime);
    const { contract, passesOn = false } = runtime.definition;
    this.#passesOn = passesOn;
    this.#write = passesOn ? writePassed : writeText;
    this.#writeParts = passesOn ? writePassed : textPartsWriter(new Set(Object.keys(contract.observation.shape)));
  }

  addressUse(text: string): AddressUse | undefined {
    try {
      const { type } = checkMessage(parseJson(text, this.#runtime.maxMessageItems));
      if (type === "error") return undefined;
      if (type === "reset") return "reset";
      return type === "close" ? "find" : type === "mcp" ? "open" : "call";
    } catch {
      return undefined;
    }
  }

  answer(connection: ConnectionContext, text: string): Answer {
    const { resume, batch } = connection;
    const isWhole = this.#passesOn && resume === undefined && batch === undefined;
    let frame: unknown;
    try {
      frame = parseJson(text, this.#runtime.maxMessageItems);
    } catch (error) {
      if (!isWhole) return this.#renderer.render(connection, explainUnreadable(error, "JSON"), writeText);
    }
    if (this.#passesOn) frame = isWhole ? wholeMessage(frame, text) : keepText(frame, text);
    if (resume === undefined) return this.#answer(connection, frame, this.#writeParts);
    return this.#answerOnce(connection, resume, { frame, raw: text, read: this.#readAgain }, this.#write);
  }

  binary(connection: ConnectionContext, data: Uint8Array): Answer {
    if (!connection.answered || !connection.extensions.includes("binary")) {
      const issue = { type: "string_type", loc: [], msg: "frames are JSON text, not binary", input: null };
      return this.#renderer.render(connection, invalidMessage([issue]), writeText);
    }
    if (this.#codec !== undefined) return this.#answerBinary(connection, data, this.#codec);
    return loadBinary().then(
      (codec) => {
        this.#codec = codec;
        return this.#answerBinary(connection, data, codec);
      },
      (error: unknown) => this.#renderer.renderFailure(connection, error),
    );
  }

  reject({ data }: SessionRejectedError): string {
    this.#runtime.statistics.countError(data);
    return JSON.stringify({ type: "error", data });
  }

  readonly queued = (place: number): string => JSON.stringify({ type: "queued", data: { place } });

  #readBinary(frame: Uint8Array, codec: BinaryCodec): unknown {
    const { definition, maxMessageItems } = this.#runtime;
    const { value, hasBytes } = codec.decode(frame, maxMessageItems);
    return hasBytes ? (this.#readBytes ??= createByteReader(definition.contract))(value) : value;
  }

  /** Reads a frame that was readable when it came. */
  readonly #readAgain = (frame: Frame): unknown =>
    typeof frame === "string"
      ? parseJson(frame, this.#runtime.maxMessageItems)
      : this.#readBinary(frame, loadedBinary() as BinaryCodec);

  #answerBinary(connection: ConnectionContext, data: Uint8Array, codec: BinaryCodec): Answer {
    const write = binaryWriter(codec);
    let frame: unknown;
    try {
      frame = this.#readBinary(data, codec);
    } catch (error) {
      return this.#renderer.render(connection, explainUnreadable(error, "MessagePack"), write);
    }
    const { resume } = connection;
    if (resume !== undefined)
      return this.#answerOnce(connection, resume, { frame, raw: data, read: this.#readAgain }, write);
    if (connection.batch !== undefined) return this.#answer(connection, frame, write);
    // Validation has copied these fields, so the environment cannot change them.
    this.#byteFields ??= byteFields(this.#runtime.definition.contract.observation.shape);
    return this.#answer(connection, frame, binaryPartsWriter(codec, this.#byteFields));
  }

  /** Answers a frame of a resumable session: executed once, then from the store. */
  #answerOnce(
    connection: ConnectionContext,
    resume: ResumeFrames,
    received: ReceivedFrame,
    write: EncodeReply,
  ): Frame | Promise<Frame | Withheld> | null {
    const numbered = (seq: number | undefined): EncodeReply =>
      seq === undefined ? write : (reply, maxBytes) => write(withNumber(reply, seq), maxBytes);
    return resume.answer(received, {
      answer: (frame, seq) => {
        if (seq !== undefined) connection.cancels?.begin(seq);
        return this.#answer(connection, frame, numbered(seq));
      },
      render: (reply, seq) => this.#renderer.render(connection, reply, numbered(seq)),
    });
  }

  /** Answers a frame; null when the peer requested to close. */
  #answer<R extends SentReply>(
    connection: ConnectionContext,
    frame: unknown,
    write: EncodeReply<R>,
  ): Eventual<R | string> | null {
    try {
      const reply = this.#request(connection, frame);
      if (reply === null) return null;
      return isThenable(reply)
        ? this.#renderer.renderLater(connection, reply, write)
        : this.#renderer.render(connection, reply, write);
    } catch (error) {
      return this.#renderer.renderFailure(connection, error);
    }
  }

  #request(connection: ConnectionContext, frame: unknown): Eventual<Reply> | null {
    const { batch, extensions, orchestrator } = connection;
    const runtime = this.#runtime;
    const sessions = this.#sessions;
    if (extensions.includes("view") && isFork(frame)) return answerFork(connection, frame, { runtime, sessions });
    const key = extensions.length === 0 ? "" : extensions.join();
    let options = this.#options.get(key);
    if (options === undefined) this.#options.set(key, (options = optionsOf(extensions)));
    // These are read before this returns, so one object is enough for all frames with the same extensions.
    options.orchestrator = orchestrator;
    options.arrivedAt = connection.arrivedAt;
    options.peer = connection.peer;
    options.onCancel = connection.cancels?.add;
    options.moves = sessions.departure.hasBegun && extensions.includes("move");
    if (batch !== undefined) return requestMany(batch, frame, options);
    const message = checkMessage(frame);
    if (message.type === "close") return null;
    if (message.type === "error") return message;
    const { session } = connection;
    if (message.type !== "mcp") return session.call(message, options);
    const { numbered, onCancel } = options;
    return answerMcp(message.data, { own: session, runtime, sessions, orchestrator, numbered, onCancel });
  }
}

/** The message to pass on: one that this server does not know, or that is not valid, is passed on as well. */
function wholeMessage(frame: unknown, text: string): object {
  const message = checkMessage(frame);
  const isKnown = message.type !== "error" && message.type !== "mcp";
  return keepText(isKnown || isFork(frame) ? (frame as JsonObject) : { type: "state" }, text);
}

/** Performs a frame of a socket with many sessions. */
function requestMany(batch: Batch, frame: unknown, options: SessionCallOptions): Eventual<Reply> | null {
  const message = checkBatchFrame(frame);
  if (message.type === "close") return null;
  if (message.type === "error") return message;
  return isBatchMessage(message) ? answerBatch(batch, message, options) : noSession();
}

/** Copies the session of a page, which opens each copy with its token. */
async function answerFork(
  { session, orchestrator }: ConnectionContext,
  frame: JsonObject,
  { runtime, sessions }: { runtime: Runtime; sessions: Sessions },
): Promise<Reply> {
  if (runtime.guarded && !orchestrator) return { type: "error", data: forbidden("fork") };
  const checked = parseInput(forkRequest, isObject(frame["data"]) ? frame["data"] : {});
  if (!checked.ok) return invalidMessage(checked.issues);
  try {
    const { keeper } = sessions;
    if (keeper === undefined) throw withoutKeeper("a copy of a session");
    return { type: "forked", data: await keeper.fork(session, checked.value as unknown as ForkRequest) };
  } catch (error) {
    if (error instanceof SessionRejectedError) return { type: "error", data: error.data };
    runtime.log.error({ err: error, fault: "infrastructure" }, "a session could not be copied");
    return errorMessage("JOURNAL_UNAVAILABLE", "The copies could not be stored.");
  }
}

/** The same as `{ ...reply, seq }`, which costs several times as much: most replies have only these members. */
function withNumber(reply: object, seq: number): object {
  const { type, data, event } = reply as { type: unknown; data: unknown; event?: number };
  if (Object.keys(reply).length !== (event === undefined ? 2 : 3)) return { ...reply, seq };
  return event === undefined ? { type, data, seq } : { type, data, event, seq };
}

function isFork(frame: unknown): frame is JsonObject {
  return isObject(frame) && frame["type"] === "fork";
}

function optionsOf(extensions: readonly Extension[]): SessionCallOptions {
  const has = (name: Extension): boolean => extensions.includes(name);
  const own = { timing: has("timing"), warnings: has("warnings"), view: has("view"), digest: has("digest") };
  const numbered = has("resume");
  return { orchestrator: false, arrivedAt: 0, numbered, ...own, event: numbered || has("view") };
}

function noSession(): Reply {
  return errorMessage(
    "SESSION_ERROR",
    "This socket has no single session: open sessions with open_many and use the _many frames.",
    { fault: "client" },
  );
}
