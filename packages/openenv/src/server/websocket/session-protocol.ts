import type { ManyMessage } from "../../protocol/batch.js";
import { forkRequest } from "../../protocol/bodies.js";
import { type BinaryCodec, loadBinary, loadedBinary } from "../../protocol/codec/binary.js";
import { parseJson } from "../../protocol/codec/json.js";
import type { ForkRequest } from "../../protocol/http.js";
import type { Extension, ForkedMessage, JsonObject, ResumedMessage, ServerMessage } from "../../protocol/messages.js";
import type { SessionCallOptions } from "../../session/calls/call.js";
import { answerMcp } from "../../session/doors/rpc.js";
import { forbidden, internalError } from "../../session/failure.js";
import {
  checkMessage,
  type ErrorMessage,
  errorMessage,
  explainUnreadable,
  invalidMessage,
} from "../../session/messages/message-codec.js";
import type { Sessions } from "../../session/registry/sessions.js";
import { forkResumable } from "../../session/resume/fork-resumable.js";
import type { Runtime } from "../../session/runtime.js";
import { SessionRejectedError } from "../../session/session-rejected-error.js";
import { isThenable } from "../../util/async/thenable.js";
import { isObject } from "../../util/is-object.js";
import { makeId } from "../../util/make-id.js";
import type { Eventual } from "../../util/types.js";
import { parseInput } from "../../validation/parse-input.js";
import { answerBatch, checkBatchFrame, isBatchMessage } from "./batch-protocol.js";
import { byteFields, createByteReader } from "./byte-fields.js";
import {
  binaryPartsWriter,
  binaryWriter,
  type EncodedReply,
  type EncodeReply,
  fixReply,
  type SentReply,
  textPartsWriter,
  writeText,
} from "./encode-reply.js";
import type { ConnectionContext, SocketProtocol } from "./protocol.js";
import { isResume, type ReceivedFrame, readNumbered, withoutNumbers } from "./resume-frames.js";

type Reply = ServerMessage | ManyMessage | ResumedMessage | ForkedMessage;

/** The protocol of `/ws`. */
export function createSessionProtocol(runtime: Runtime, sessions: Sessions): SocketProtocol {
  /** The options of a frame, by the extensions of its socket. */
  const optionsBy = new Map<string, SessionCallOptions>();
  let codec: BinaryCodec | undefined;
  let readBytes: ReturnType<typeof createByteReader> | undefined;
  let ownFields: Set<string> | undefined;
  const server = makeId(runtime.idPrefix);
  const confirm = (extensions: readonly Extension[]) => ({
    extensions,
    ...(extensions.includes("move") && { server }),
  });
  const writeParts = textPartsWriter(new Set(Object.keys(runtime.definition.contract.observation.shape)));

  /** Answers a parsed frame; null when the peer requested to close. */
  const answer = <R extends SentReply>(
    connection: ConnectionContext,
    frame: unknown,
    write: EncodeReply<R>,
  ): Eventual<R | string> | null => {
    const { session, batch, extensions, orchestrator, arrivedAt } = connection;
    const key = extensions.length === 0 ? "" : extensions.join();
    let options = optionsBy.get(key);
    if (options === undefined) optionsBy.set(key, (options = optionsOf(extensions)));
    // These are read before this returns, so one object is enough for all frames with the same extensions.
    options.orchestrator = orchestrator;
    options.arrivedAt = arrivedAt;
    options.peer = connection.peer;
    options.moves = sessions.departure.hasBegun && extensions.includes("move");
    try {
      let reply: Eventual<Reply>;
      if (extensions.includes("view") && isFork(frame)) reply = answerFork(connection, frame, { runtime, sessions });
      else if (batch === undefined) {
        const message = checkMessage(frame);
        if (message.type === "close") return null;
        if (message.type === "error") reply = message;
        else if (message.type !== "mcp") reply = session.call(message, options);
        else {
          const { numbered } = options;
          reply = answerMcp(message.data, { own: session, runtime, sessions, orchestrator, numbered });
        }
      } else {
        const message = checkBatchFrame(frame);
        if (message.type === "close") return null;
        if (message.type === "error") reply = message;
        else reply = isBatchMessage(message) ? answerBatch(batch, message, options) : noSession();
      }
      return isThenable(reply) ? renderLater(connection, reply, write) : render(connection, reply, write);
    } catch (error) {
      return failed(connection, error);
    }
  };

  /** The answer to a frame of a resumable session: executed once, then from the store. */
  const answerOnce = (
    connection: ConnectionContext,
    received: ReceivedFrame<unknown>,
    write: EncodeReply,
  ): Eventual<EncodedReply> | null => {
    const { durable } = connection;
    if (durable === undefined || isResume(received.frame)) {
      const resumed = connection.resume(received.frame);
      return isThenable(resumed) ? renderLater(connection, resumed, write) : render(connection, resumed, write);
    }
    // These need no number.
    if (!isObject(received.frame)) return answer(connection, received.frame, write);
    if (received.frame["type"] === "close") return answer(connection, withoutNumbers(received.frame), write);
    const request = readNumbered(received as ReceivedFrame);
    if ("type" in request) return render(connection, request, write);
    const { frame, seq } = request;
    const numbered: EncodeReply = (reply, maxBytes) => write(withNumber(reply, seq), maxBytes);
    return durable.answerOnce(request, (refusal) =>
      refusal === undefined
        ? (answer(connection, frame, numbered) as Eventual<EncodedReply>)
        : render(connection, refusal, numbered),
    );
  };

  const render = <R extends SentReply>(connection: ConnectionContext, reply: Reply, write: EncodeReply<R>): R => {
    const { extensions } = connection;
    const confirmed =
      extensions.length === 0 || connection.answered ? reply : { ...reply, openenv: confirm(extensions) };
    const maxBytes = runtime.maxAnswerBytes;
    let sent: Reply = confirmed;
    let answer: R;
    try {
      answer = write(confirmed, maxBytes);
    } catch (error) {
      if (reply.type === "observation") connection.session.dropEpisode();
      sent = fixReply(confirmed, error, { write, maxBytes });
      answer = write(sent, Number.POSITIVE_INFINITY);
    }
    if (sent.type === "error" || sent.type === "many") countErrors(connection, sent);
    return answer;
  };

  const renderLater = <R extends SentReply>(
    connection: ConnectionContext,
    reply: Promise<Reply>,
    write: EncodeReply<R>,
  ): Promise<R> => reply.then((value) => render(connection, value, write));

  const countErrors = ({ batch, session }: ConnectionContext, reply: ErrorMessage | ManyMessage): void => {
    const { statistics } = runtime;
    if (reply.type === "error") return statistics.countError(reply.data, batch ? undefined : session);
    for (const { type, data } of reply.data.items) {
      if (type === "error") statistics.countError(data, batch?.get(data.session ?? -1));
    }
  };

  /** Answers after a bug in this package, which must not end the other sessions. */
  const failed = (connection: ConnectionContext, error: unknown): string => {
    runtime.log.error({ err: error, fault: "infrastructure" }, "a frame could not be answered");
    return render(connection, { type: "error", data: internalError() }, writeText);
  };

  const decode = (data: Uint8Array, loaded: BinaryCodec): unknown => {
    const { value, hasBytes } = loaded.decode(data, runtime.maxMessageItems);
    return hasBytes ? (readBytes ??= createByteReader(runtime.definition.contract))(value) : value;
  };

  /** Reads a frame that was readable when it came. */
  const read = (frame: EncodedReply): unknown =>
    typeof frame === "string"
      ? parseJson(frame, runtime.maxMessageItems)
      : decode(frame, loadedBinary() as BinaryCodec);

  const answerBinary = (connection: ConnectionContext, data: Uint8Array, loaded: BinaryCodec) => {
    const write = binaryWriter(loaded);
    let frame: unknown;
    try {
      frame = decode(data, loaded);
    } catch (error) {
      return render(connection, explainUnreadable(error, "MessagePack"), write);
    }
    if (storesAnswers(connection)) return answerOnce(connection, { frame, raw: data, read }, write);
    if (connection.batch !== undefined) return answer(connection, frame, write);
    // Validation has copied these fields, so the environment cannot change them.
    ownFields ??= byteFields(runtime.definition.contract.observation.shape);
    return answer(connection, frame, binaryPartsWriter(loaded, ownFields));
  };

  return {
    client: "websocket",
    addressUse(text) {
      try {
        const { type } = checkMessage(parseJson(text, runtime.maxMessageItems));
        if (type === "error") return undefined;
        if (type === "reset") return "reset";
        return type === "close" ? "find" : type === "mcp" ? "open" : "call";
      } catch {
        return undefined;
      }
    },
    answer(connection, text) {
      let frame: unknown;
      try {
        frame = parseJson(text, runtime.maxMessageItems);
      } catch (error) {
        return render(connection, explainUnreadable(error, "JSON"), writeText);
      }
      if (storesAnswers(connection)) return answerOnce(connection, { frame, raw: text, read }, writeText);
      return answer(connection, frame, writeParts);
    },
    binary(connection, data) {
      if (!connection.answered || !connection.extensions.includes("binary")) {
        const issue = { type: "string_type", loc: [], msg: "frames are JSON text, not binary", input: null };
        return render(connection, invalidMessage([issue]), writeText);
      }
      if (codec !== undefined) return answerBinary(connection, data, codec);
      return loadBinary().then(
        (loaded) => {
          codec = loaded;
          return answerBinary(connection, data, loaded);
        },
        (error: unknown) => failed(connection, error),
      );
    },
    reject({ data }) {
      runtime.statistics.countError(data);
      return JSON.stringify({ type: "error", data });
    },
    queued: (place) => JSON.stringify({ type: "queued", data: { place } }),
  };
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
    return { type: "forked", data: await forkResumable(sessions, session, checked.value as unknown as ForkRequest) };
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

function storesAnswers({ extensions }: ConnectionContext): boolean {
  return extensions.includes("resume");
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
