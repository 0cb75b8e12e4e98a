import type { CallFailure } from "../failures.js";
import type { TurnHolder } from "../transport/turns.js";
import type { ServerTarget } from "./server-target.js";
import type { SocketGroup } from "./socket-group.js";

/** One session of a vector environment, on whatever socket it is. */
export interface Slot extends TurnHolder {
  readonly index: number;
  state: SlotState;
  /** Whether an episode has begun in it, also on an earlier session. */
  hasPlayed: boolean;
}

export type SlotState = { kind: "unopened" } | { kind: "opening"; group: SocketGroup } | OpenState | ClosedState;

/** A session on a socket. `opened`: no reset of it has succeeded. `over`: its episode has ended, or its last reset failed. */
export interface OpenState {
  kind: "opened" | "playing" | "over";
  group: SocketGroup;
  /** Its number on the socket. */
  session: number;
}

/** Without a session: it was refused, or lost. */
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

/** The server that has the session, or was the last that had it or refused it. */
export function targetOf({ state }: Slot): ServerTarget | undefined {
  return state.kind === "closed" ? state.target : groupOf(state)?.target;
}
