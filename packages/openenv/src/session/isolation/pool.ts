import type { Isolate } from "./isolate.js";

/** Where sessions get the thread or process that their environment lives in. */
export interface IsolatePool {
  /** Sessions may share an isolate. */
  readonly shared: boolean;
  /** Rejects when no isolate can be started. */
  acquire(): Promise<Isolate>;
  /** A client has left. Resolves when nothing of it is left. */
  release(isolate: Isolate): Promise<void>;
  /** Ends all isolates. */
  close(): Promise<void>;
}
