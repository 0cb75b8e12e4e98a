import type { FromIsolate, ToIsolate } from "./messages.js";

export interface ChannelOptions {
  /** URL of the author's module. */
  module: string;
  memoryMb: number | undefined;
}

/** A running thread or process and the line to it. The handlers are set before anything can arrive. */
export interface IsolateChannel {
  /** For the log and for messages: `thread 4`, `process 4711`. */
  readonly name: string;
  send(message: ToIsolate): void;
  onMessage: (message: FromIsolate) => void;
  /** It has ended, for whatever reason; called once. `error` is what brought it down, where that is known. */
  onEnd: (reason: string, error?: unknown) => void;
  /** Ends it now, whatever it is doing. */
  kill(): void;
  /** Resolves when it is gone. */
  readonly gone: Promise<void>;
}
