import type { Host } from "./host.js";

/** Where sessions get the thread or process that their environment lives in. */
export interface Pool {
  /** Sessions may share a host. */
  readonly shared: boolean;
  /** Rejects when no host can be started. */
  acquire(): Promise<Host>;
  /** A tenant has left. Resolves when nothing of it is left. */
  release(host: Host): Promise<void>;
  /** Ends all hosts. */
  close(): Promise<void>;
}
