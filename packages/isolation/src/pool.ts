import type { Isolate } from "./isolate.js";

/** Assigns sessions to isolates. */
export interface IsolatePool {
  /** Sessions may share an isolate. */
  readonly shared: boolean;
  /** Rejects when no isolate can be started. */
  acquire(): Promise<Isolate>;
  /** Releases a client's slot. Resolves when everything is cleaned up. */
  release(isolate: Isolate): Promise<void>;
  /** Ends all isolates. */
  close(): Promise<void>;
}
