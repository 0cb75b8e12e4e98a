import type { ManyMessage } from "../../protocol/batch.js";
import { type BinaryCodec, loadBinary } from "../../protocol/codec/binary.js";
import { parseJson } from "../../protocol/codec/json.js";
import type { Extension, ServerMessage } from "../../protocol/messages.js";
import type { ExchangeOptions } from "../../session/exchange.js";
import { type DispatchOptions, dispatch } from "../../session/messages/dispatch.js";
import { checkFrame, errorMessage, invalidMessage, readWith } from "../../session/messages/frame.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import { isThenable } from "../../util/async/thenable.js";
import { answerBatch, checkBatchFrame, isBatchMessage } from "./batch-frames.js";
import { createByteReader } from "./byte-fields.js";
import { type Answer, binaryWriter, mendReply, type Write, writeText } from "./format.js";
import type { Conversation, SocketProtocol } from "./protocol.js";

type Reply = ServerMessage | ManyMessage;
type MaybePromise<T> = T | Promise<T>;
type Parse = () => unknown;

/** The frames of `/ws`. */
export function createFrameProtocol(runtime: Runtime, sessions: Sessions): SocketProtocol {
  const forAgents: DispatchOptions = { sessions };
  const forOrchestrators: DispatchOptions = { sessions, orchestrator: true };
  let codec: BinaryCodec | undefined;
  let readBytes: ReturnType<typeof createByteReader> | undefined;

  const render = (conversation: Conversation, reply: Reply, write: Write): Answer => {
    const { extensions } = conversation;
    const confirmed = extensions.length === 0 || conversation.answered ? reply : { ...reply, openenv: { extensions } };
    const maxBytes = runtime.maxAnswerBytes;
    try {
      const answer = write(confirmed, maxBytes);
      countErrors(conversation, confirmed);
      return answer;
    } catch (error) {
      const mended = mendReply(confirmed, error, { write, maxBytes });
      countErrors(conversation, mended);
      return write(mended, Number.POSITIVE_INFINITY);
    }
  };

  const countErrors = ({ batch, session }: Conversation, reply: Reply): void => {
    if (reply.type === "error") runtime.statistics.countError(reply.data, batch ? undefined : session);
    if (reply.type !== "many") return;
    for (const item of reply.data.items) if (item.type === "error") runtime.statistics.countError(item.data);
  };

  /** Null when the peer asked to close. */
  const respond = (conversation: Conversation, parse: Parse, format: string): MaybePromise<Reply> | null => {
    const { extensions, batch, session } = conversation;
    const plain = conversation.orchestrator ? forOrchestrators : forAgents;
    // It is read before this returns, so that a frame without extensions costs no object.
    plain.arrivedAt = conversation.arrivedAt;
    const options = extensions.length === 0 ? plain : { ...plain, ...optionsOf(extensions) };
    if (batch === undefined) {
      const message = readWith(parse, { format, check: checkFrame });
      if (message.type === "close") return null;
      return message.type === "error" ? message : dispatch(session, message, options);
    }
    const message = readWith(parse, { format, check: checkBatchFrame });
    if (message.type === "close") return null;
    if (message.type === "error") return message;
    return isBatchMessage(message) ? answerBatch(batch, message, options) : noOwnSession();
  };

  const answer = (
    conversation: Conversation,
    parse: Parse,
    { format, write }: { format: string; write: Write },
  ): MaybePromise<Answer> | null => {
    try {
      const reply = respond(conversation, parse, format);
      if (reply === null) return null;
      return isThenable(reply)
        ? reply.then((value) => render(conversation, value, write))
        : render(conversation, reply, write);
    } catch (error) {
      return failed(conversation, error);
    }
  };

  /** A mistake of this package, which must not take the other sessions along. */
  const failed = (conversation: Conversation, error: unknown): Answer => {
    runtime.log.error({ err: error }, "a frame could not be answered");
    return render(conversation, errorMessage("EXECUTION_ERROR", "Internal Server Error"), writeText);
  };

  const answerBinary = (conversation: Conversation, data: Uint8Array, loaded: BinaryCodec) => {
    const parse = (): unknown => {
      const { value, hasBytes } = loaded.decode(data, runtime.maxMessageItems);
      if (!hasBytes) return value;
      readBytes ??= createByteReader(runtime.definition.contract);
      return readBytes(value);
    };
    return answer(conversation, parse, { format: "MessagePack", write: binaryWriter(loaded) });
  };

  return {
    client: "websocket",
    answer: (conversation, text) => answer(conversation, () => parseJson(text, runtime.maxMessageItems), JSON_FRAMES),
    binary(conversation, data) {
      if (!conversation.answered || !conversation.extensions.includes("binary")) {
        const issue = { type: "string_type", loc: [], msg: "frames are JSON text, not binary", input: null };
        return render(conversation, invalidMessage([issue]), writeText);
      }
      if (codec !== undefined) return answerBinary(conversation, data, codec);
      return loadBinary().then(
        (loaded) => {
          codec = loaded;
          return answerBinary(conversation, data, loaded);
        },
        (error: unknown) => failed(conversation, error),
      );
    },
    refuse({ data }) {
      runtime.statistics.countError(data);
      return JSON.stringify({ type: "error", data });
    },
    queued: (place) => JSON.stringify({ type: "queued", data: { place } }),
  };
}

function optionsOf(extensions: Conversation["extensions"]): ExchangeOptions {
  const has = (name: Extension): boolean => extensions.includes(name);
  return { timing: has("timing"), warnings: has("warnings"), view: has("view") };
}

function noOwnSession(): Reply {
  return errorMessage(
    "SESSION_ERROR",
    "This socket has no session of its own: open some with open_many, use the _many frames.",
  );
}

const JSON_FRAMES = { format: "JSON", write: writeText };
