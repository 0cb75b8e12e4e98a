import type { ClientMessage } from "../../protocol/messages.js";
import type { Eventual } from "../../util/types.js";
import type { ParsedReset } from "../../validation/parse-input.js";
import type { Answer, Call } from "./call.js";
import type { PreparedCall } from "./tool-call.js";

/** A reset with its data, and as `input` when it has already been validated. */
export type ResetMessage = Extract<ClientMessage, { type: "reset" }> & { input?: ParsedReset };
/** A message for the environment. */
export type EnvironmentMessage = Exclude<ClientMessage, { type: "reset" | "mcp" | "close" }> | ResetMessage;
/** What a peer requests of a session, over any transport. */
export type PeerRequest = EnvironmentMessage | PreparedCall;
/** What a session performs, one after the other. */
export type SessionRequest = PeerRequest | { type: "capture" };

/** A request that waits until those before it are answered. */
export interface WaitingCall {
  request: SessionRequest;
  call: Call;
  resolve(answer: Eventual<Answer>): void;
}
