import type { MessageParts } from "#parts/sockets";
import type { BatchReply, ManyMessage } from "../../protocol/batch.js";
import type { BinaryCodec } from "../../protocol/codec/binary.js";
import type { Extension, ForkedMessage, ResumedMessage, ServerMessage } from "../../protocol/messages.js";
import { internalError } from "../../session/failure.js";
import {
  type ErrorMessage,
  errorMessage,
  serializationFailure,
  serializeReply,
  tooLarge,
} from "../../session/messages/message-codec.js";
import { passedText } from "../../session/messages/received-text.js";
import type { Frame } from "../../session/registry/session-keeper.js";
import type { Runtime } from "../../session/runtime.js";
import type { Session } from "../../session/session.js";
import { makeId } from "../../util/make-id.js";
import { handleOf } from "../access/session-handle.js";
import { encodeInParts, serializeInParts } from "./message-parts.js";

/** One that is sent once, and not stored. */
export type SentReply = Frame | MessageParts;
/** Encodes an answer of at most `maxBytes`. @throws Error with the reason when it cannot be encoded. */
export type EncodeReply<R extends SentReply = Frame> = (reply: object, maxBytes: number) => R;

export const writeText: EncodeReply<string> = serializeReply;

/** Keeps the text of answers that another server has given. */
export const writePassed: EncodeReply<string> = passedText;

/** Long strings in these fields of the observation become parts where that is faster. */
export function textPartsWriter(fields: ReadonlySet<string>): EncodeReply<string | MessageParts> {
  return limit((reply, maxBytes) => serializeInParts(reply, maxBytes, fields));
}

export function binaryWriter(codec: BinaryCodec): EncodeReply<Uint8Array> {
  return limit(codec.encode);
}

/** Large byte arrays in these fields of the observation become parts. */
export function binaryPartsWriter(
  codec: BinaryCodec,
  fields: ReadonlySet<string>,
): EncodeReply<Uint8Array | MessageParts> {
  return limit((reply) => encodeInParts(codec, reply, fields));
}

/** A string has been checked by `serializeReply`. */
function limit<R extends SentReply>(encode: EncodeReply<R>): EncodeReply<R> {
  return (reply, maxBytes) => {
    const encoded = encode(reply, maxBytes);
    if (typeof encoded !== "string" && encoded.length > maxBytes) {
      throw tooLarge(maxBytes);
    }
    return encoded;
  };
}

/** What a frame of `/ws` is answered with, before it is encoded. */
export type Reply = ServerMessage | ManyMessage | ResumedMessage | ForkedMessage;

/** The part of a connection that its answers depend on. */
interface AnsweredPeer {
  /** Undefined until a resumed one is found. */
  readonly session: Session | undefined;
  readonly batch: { readonly ownId: string; get(session: number): Session | undefined } | undefined;
  /** Set where the session has an address. */
  readonly peer: object | undefined;
  readonly extensions: readonly Extension[];
  readonly answered: boolean;
}

/** Makes frames of replies: the first of a socket confirms its extensions, and errors are counted. */
export class ReplyRenderer {
  readonly #runtime: Runtime;
  /** Names this server to clients that can make a reset on another one. */
  readonly #server: string;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#server = makeId(runtime.idPrefix);
  }

  /** A reply that cannot be encoded becomes an error. */
  render<R extends SentReply>(connection: AnsweredPeer, reply: Reply, write: EncodeReply<R>): R {
    const { extensions } = connection;
    const confirmed = extensions.length === 0 || connection.answered ? reply : this.#confirm(reply, connection);
    const maxBytes = this.#runtime.maxAnswerBytes;
    let sent: Reply = confirmed;
    let answer: R;
    try {
      answer = write(confirmed, maxBytes);
    } catch (error) {
      if (reply.type === "observation") connection.session?.dropEpisode();
      sent = fixReply(confirmed, error, { write, maxBytes });
      answer = write(sent, Number.POSITIVE_INFINITY);
    }
    if (sent.type === "error" || sent.type === "many") this.#countErrors(connection, sent);
    return answer;
  }

  /** This is separate because a closure in `render` would slow down every frame. */
  renderLater<R extends SentReply>(connection: AnsweredPeer, reply: Promise<Reply>, write: EncodeReply<R>): Promise<R> {
    return reply.then((value) => this.render(connection, value, write));
  }

  /** Answers after a bug in this package, which must not end the other sessions. */
  renderFailure(connection: AnsweredPeer, error: unknown): string {
    this.#runtime.log.error({ err: error, fault: "infrastructure" }, "a frame could not be answered");
    return this.render(connection, { type: "error", data: internalError() }, writeText);
  }

  /** Clients that ask for `move`, which sessions by address do not have, also get the public name of their session. */
  #confirm(reply: Reply, { batch, extensions, peer, session }: AnsweredPeer): Reply & { openenv: object } {
    const server = extensions.includes("move") ? { server: this.#server } : {};
    const id = extensions.includes("move") || peer !== undefined ? (batch?.ownId ?? session?.id) : undefined;
    return { ...reply, openenv: { extensions, ...server, ...(id !== undefined && { session: handleOf({ id }) }) } };
  }

  #countErrors({ batch, session }: AnsweredPeer, reply: ErrorMessage | ManyMessage): void {
    const { statistics } = this.#runtime;
    if (reply.type === "error") return statistics.countError(reply.data, batch ? undefined : session);
    for (const { type, data } of reply.data.items) {
      if (type === "error") statistics.countError(data, batch?.get(data.session ?? -1));
    }
  }
}

/** Replaces a reply that cannot be encoded by an error; of a batch reply, only the items concerned. */
function fixReply(reply: Reply, error: unknown, { write, maxBytes }: EncodeOptions): Reply {
  return reply.type === "many" ? fix(reply, write, maxBytes) : unwritable(error);
}

interface EncodeOptions {
  write: EncodeReply<SentReply>;
  maxBytes: number;
}

function fix(message: ManyMessage, write: EncodeReply<SentReply>, maxBytes: number): ManyMessage {
  let left = maxBytes;
  const items = message.data.items.map((item): BatchReply => {
    try {
      const { length } = write(item, left);
      left -= length;
      return item;
    } catch (error) {
      return unwritable(error);
    }
  });
  return { ...message, data: { items } };
}

function unwritable(error: unknown): Extract<ServerMessage, { type: "error" }> {
  return errorMessage("EXECUTION_ERROR", serializationFailure(error));
}
