import type { CallContext, Environment } from "./environment.js";

export { TOOL_ERROR_TYPES } from "../errors.js";
export { memberText } from "../protocol/codec/member-text.js";
export { type Hosted, hosted } from "./environment-host.js";

/** A message of a session: its text as it was received, and what it does. `other` is anything that does not change the episode. */
export interface RelayedMessage {
  readonly type: "reset" | "step" | "other";
  readonly text: string;
  /** The client wants views: `render` and `actions` are called with the observation of the answer. */
  readonly view?: boolean | undefined;
}

/** Passes the messages of a session on to a server elsewhere, which answers them. */
export interface Relay {
  /** Resolves with the text of the answer. Rejects with a SessionLostError when the other server has lost the session. */
  send(message: RelayedMessage, call: CallContext): Promise<string>;
}

/** The member of an environment with its {@link Relay}. A symbol, because an author's environment can have any name. */
export const relay: unique symbol = Symbol.for("openenv.relay") as never;

export function relayOf(environment: Environment): Relay | undefined {
  return (environment as { [relay]?: Relay })[relay];
}
