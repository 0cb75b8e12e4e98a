import type { EffectsState } from "#core/session/calls/effects.js";
import type { PackedError } from "#core/session/packed-error.js";

/** The methods of an isolated session. `ping` is for the isolate itself. */
export type IsolateMethod =
  | "create"
  | "reset"
  | "step"
  | "state"
  | "close"
  | "tool"
  | "afterTool"
  | "render"
  | "actions"
  | "snapshot"
  | "restore"
  | "stateKey"
  | "ping";

/** The answer to `create`. */
export interface Created {
  /** The optional methods that the environment has. */
  has: ("afterTool" | "render" | "actions" | "snapshot" | "stateKey")[];
}

/** The input of `tool`. */
export interface IsolateToolCall {
  name: string;
  input: unknown;
}

/** The context of `step`, without its signal. */
export interface IsolateContext {
  metadata: Readonly<Record<string, unknown>>;
  timeoutMs: number | undefined;
  requestId: string | undefined;
}

/** A call of a method. Events come with their effects. */
export interface IsolateRequestMessage {
  type: "request";
  id: number;
  session: number;
  method: IsolateMethod;
  input?: unknown;
  context?: IsolateContext;
  effects?: EffectsState;
}

/** Messages to the isolate. Every request has one answer; `abort` aborts the signal of a request. */
export type ToIsolate = IsolateRequestMessage | { type: "abort"; id: number; reason: string } | { type: "end" };

/** Messages from the isolate: first `ready` or `unusable`, then answers. */
export type FromIsolate =
  | { type: "ready"; contract: string }
  | { type: "unusable"; error: PackedError }
  | { type: "answer"; id: number; value: unknown; effects?: EffectsState | undefined }
  | { type: "failure"; id: number; error: PackedError; effects?: EffectsState | undefined };
