import type { Extension } from "../../protocol/messages.js";
import type { Principal } from "../../session/attachable-session.js";
import type { Batch } from "../../session/batch.js";
import type { AddressPeer } from "../../session/calls/call.js";
import type { Cancels } from "../../session/calls/cancels.js";
import type { AddressUse, ResumeFrames, Withheld } from "../../session/registry/session-keeper.js";
import type { Session } from "../../session/session.js";
import type { SessionRejectedError } from "../../session/session-rejected-error.js";
import type { SentReply } from "./encode-reply.js";

/** The part of a connection that a protocol uses. */
export interface ConnectionContext {
  /** Must not be read when there is a batch. */
  readonly session: Session;
  /** The sessions of a socket with the extension `batch`, which has no single session. */
  readonly batch: Batch | undefined;
  readonly extensions: readonly Extension[];
  /** True once the first answer has been sent. */
  readonly answered: boolean;
  /** This peer, if the session was found by an address. */
  readonly peer: AddressPeer | undefined;
  /** True when the upgrade request had the orchestrator's token. */
  readonly orchestrator: boolean;
  /** The peer, if a plugin has recognised it. */
  readonly principal: Principal | undefined;
  /** Set with the extension `resume`. */
  readonly resume: ResumeFrames | undefined;
  /** Set with the extension `cancel`. */
  readonly cancels: Cancels | undefined;
  /** When the current frame arrived, on the clock of `performance.now()`. */
  readonly arrivedAt: number;
}

/** The protocol of a socket: frames in, frames out. */
export interface SocketProtocol {
  /** The kind of client that operators see for these sessions. */
  readonly client: Session["client"];
  /** What a text frame does with the session of an address; undefined for a frame that is not valid. */
  addressUse(text: string): AddressUse | undefined;
  /** Answers one text frame; null when the peer requested to close. Never throws or rejects. */
  answer(connection: ConnectionContext, text: string): SentReply | null | Promise<SentReply | Withheld | null>;
  /** Answers one binary frame, as `answer` does. */
  binary(connection: ConnectionContext, data: Uint8Array): SentReply | null | Promise<SentReply | Withheld | null>;
  /** The frame that is sent right after the handshake, before the socket is closed. */
  reject(refusal: SessionRejectedError): string;
  /** The frame for a peer with the extension `view` that waits for a session: 1 is next, 0 is its turn. */
  queued?(place: number): string;
}
