import { ConnectionError } from "../../errors.js";
import { DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_TIMEOUT_MS } from "../options.js";
import { GRACE_MS, startThread } from "./thread.js";
import type { SyncConnectOptions } from "./types.js";
import type { WorkerSetup } from "./wire.js";

/** The calling thread's side of a client that lives in another thread. */
export interface Channel {
  /** Blocks until the thread has done it; throws what it threw. */
  call(method: string, ...args: unknown[]): unknown;
  /** Closes the client and ends the thread; nothing happens the second time. */
  end(): void;
}

export function startChannel(url: string, options: SyncConnectOptions, typed: boolean): Channel {
  const setup: WorkerSetup = { url, options: { ...options }, typed };
  const thread = startThread(new URL("./worker.js", import.meta.url), setup);
  return {
    call: (method, ...args) => {
      if (thread.ended)
        throw new ConnectionError("CLIENT_CLOSED", "The client was closed; open a new one with connectSync().");
      return thread.call(method, args, waitLimit(options, args.at(-1)));
    },
    end: () => {
      try {
        if (!thread.ended) thread.call("close", [], waitLimit(options, undefined));
      } finally {
        thread.end();
      }
    },
  };
}

function waitLimit(options: SyncConnectOptions, last: unknown): number {
  const own = (last as { timeoutMs?: number } | undefined)?.timeoutMs;
  const call = own ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  return call + (options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS) + GRACE_MS;
}
