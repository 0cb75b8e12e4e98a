import type { Extension } from "../../protocol/messages.js";
import type { Session } from "../session.js";
import type { Refusal } from "../sessions.js";

/** What a protocol needs to know of the connection it answers on. */
export interface Conversation {
  readonly session: Session;
  readonly extensions: readonly Extension[];
  /** The first answer has been sent. */
  readonly answered: boolean;
}

/** What is spoken on a socket. Texts in, texts out; the connection knows nothing else of it. */
export interface SocketProtocol {
  /** The answer to one text frame; null when the peer asked to close. Never throws or rejects. */
  answer(conversation: Conversation, text: string): string | Promise<string> | null;
  /** The answer to a binary frame. */
  binary(): string;
  /** The one unsolicited frame: said right after the handshake, before the socket is closed. */
  refuse(refusal: Refusal): string;
}
