import type { Refusal } from "../sessions.js";
import type { Connection } from "./connection.js";

/** What is spoken on a socket. Texts in, texts out; the connection knows nothing else of it. */
export interface SocketProtocol {
  /** The answer to one text frame; null when the peer asked to close. Never throws or rejects. */
  answer(connection: Connection, text: string): string | Promise<string> | null;
  /** The answer to a binary frame. */
  binary(): string;
  /** The one unsolicited frame: said right after the handshake, before the socket is closed. */
  refuse(refusal: Refusal): string;
}
