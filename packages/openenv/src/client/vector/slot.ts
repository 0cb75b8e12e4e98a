import type { CallFailure } from "../failures.js";
import type { TurnHolder } from "../transport/turns.js";
import type { ServerTarget } from "./server-target.js";
import type { SocketGroup } from "./socket-group.js";

/** The place of one session in a vector environment; it keeps its index when the session changes sockets. */
export interface Slot extends TurnHolder {
  readonly index: number;
  state: SlotState;
  /** True when an episode has started in it, possibly on an earlier session. */
  hasPlayed: boolean;
  /** The number of the group of its episode. */
  groupId: number | null;
}

export type SlotState = { kind: "unopened" } | { kind: "opening"; group: SocketGroup } | OpenState | ClosedState;

/** A session on a socket. `opened`: no reset has succeeded. `over`: the episode has ended, or the last reset failed. */
export interface OpenState {
  kind: "opened" | "playing" | "over";
  group: SocketGroup;
  /** Its number on the socket. */
  session: number;
  /** It replaces a session that was not lost. */
  isMoved?: boolean;
}

/** No session: it was rejected or lost. */
export interface ClosedState {
  kind: "closed";
  error: CallFailure;
  target: ServerTarget | undefined;
}

export function openState({ state }: Slot): OpenState | undefined {
  return "session" in state ? state : undefined;
}

export function groupOf(state: SlotState): SocketGroup | undefined {
  return "group" in state ? state.group : undefined;
}

/** The server of the session, or the last one that had or rejected it. */
export function targetOf({ state }: Slot): ServerTarget | undefined {
  return state.kind === "closed" ? state.target : groupOf(state)?.target;
}
