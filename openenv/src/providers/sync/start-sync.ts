import { GRACE_MS, startThread, type Thread } from "../../client/sync/thread.js";
import { DEFAULT_START_TIMEOUT_MS, type Recipe } from "../provider.js";

/** As `Started`, with calls that block. */
export interface SyncStarted extends Disposable {
  readonly url: string;
  /** What it wants to be told before it answers. */
  readonly token?: string | undefined;
  logs(): string;
  close(): void;
}

/** A log that cannot be read, or an end that takes longer, counts as lost. */
const CALL_MS = 30_000;

/** What the thread tells of what it has started. */
export interface StartAnswer {
  id: number;
  url: string;
  token?: string | undefined;
}

/** One for all: it holds what runs and, with `prewarm`, the spares. */
let thread: Thread | undefined;

/**
 * Starts something in another thread and blocks until it is ready. `start` makes the promise of a `Started`. It runs until
 * `close()`, or until this process ends.
 */
export function startSync(start: Recipe, timeoutMs: number | undefined): SyncStarted {
  if (thread === undefined || thread.ended) thread = startThread(new URL("./worker.js", import.meta.url), undefined);
  const owner = thread;
  const limitMs = (timeoutMs ?? DEFAULT_START_TIMEOUT_MS) + CALL_MS;
  const { id, url, token } = owner.call("start", [start], limitMs) as StartAnswer;
  let closed = false;
  const close = (): void => {
    if (closed) return;
    closed = true;
    owner.call("close", [id], CALL_MS + GRACE_MS);
  };
  return {
    url,
    token,
    logs: () => owner.call("logs", [id], CALL_MS) as string,
    close,
    [Symbol.dispose]: close,
  };
}

/** The names of options that a blocking call has: a thread that waits cannot be aborted, nor be told of the progress. */
export function withoutPromises(names: readonly string[]): string[] {
  return names.filter((name) => name !== "signal" && name !== "onProgress");
}
