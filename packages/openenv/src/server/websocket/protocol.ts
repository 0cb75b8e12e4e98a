import type { Extension } from "../../protocol/messages.js";
import type { Session } from "../../session/session.js";
import type { SessionRejectedError } from "../../session/session-rejected-error.js";
import type { Batch } from "./batch.js";
import type { EncodedReply } from "./encode-reply.js";

/** What a protocol needs to know of the connection it answers on. */
export interface ConnectionContext {
  /** Not to be asked for when there is a batch. */
  readonly session: Session;
  /** The sessions of a socket with the extension `batch`, which has none of its own. */
  readonly batch: Batch | undefined;
  readonly extensions: readonly Extension[];
  /** The upgrade carried the orchestrator's token. */
  readonly orchestrator: boolean;
  /** The first answer has been sent. */
  readonly answered: boolean;
  /** When the frame that is handled arrived, by the clock of `performance.now()`. */
  readonly arrivedAt: number;
}

/** What is spoken on a socket: frames in, frames out; the connection knows nothing else of it. */
export interface SocketProtocol {
  /** Whose sessions these are, to operators. */
  readonly client: Session["client"];
  /** The answer to one text frame; null when the peer asked to close. Never throws or rejects. */
  answer(conversation: ConnectionContext, text: string): EncodedReply | null | Promise<EncodedReply | null>;
  /** As `answer`, for a binary frame. */
  binary(conversation: ConnectionContext, data: Uint8Array): EncodedReply | null | Promise<EncodedReply | null>;
  /** Unsolicited: said right after the handshake, before the socket is closed. */
  reject(refusal: SessionRejectedError): string;
  /** What a peer with the extension `view` is told while it waits for a session: 1 for the next, 0 for its turn. */
  queued?(place: number): string;
}
