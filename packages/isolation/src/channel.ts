import type { FromIsolate, ToIsolate } from "./messages.js";

export interface ChannelOptions {
  /** URL of the author's module. */
  module: string;
  memoryMb: number | undefined;
  /** The value of the variable with the resources. */
  resources: string;
}

/** A running thread or process and its message channel. The handlers are set before the first message can arrive. */
export interface IsolateChannel {
  /** Name in logs and error messages: `thread 4`, `process 4711`. */
  readonly name: string;
  send(message: ToIsolate): void;
  onMessage: (message: FromIsolate) => void;
  /** Called once when the thread or process has ended. `error` is the cause, if known. */
  onEnd: (reason: string, error?: unknown) => void;
  /** Kills the thread or process immediately. */
  kill(): void;
  /** Resolves when the thread or process has ended. */
  readonly gone: Promise<void>;
}
