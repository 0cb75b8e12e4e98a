import { ConnectionError } from "../../errors.js";
import type { CallOptions } from "../options.js";
import { isHealthy } from "./health.js";
import { withLimits } from "./limits.js";

/** Resolves with the reason once a server has ended; `signal` stops waiting. */
export type WaitForExit = (signal: AbortSignal) => Promise<string>;

/** Adds to the error of a call why the server ended, if the reason is known within the limits of the call. */
export type ExplainExit = (error: unknown, limits: CallOptions) => Promise<unknown>;

/** A server that was started, and how to learn why it ended. */
interface WatchedServer {
  url: string;
  ended: WaitForExit;
}

/** A server's end is reported a moment after its connections break: a scheduler takes seconds. */
const WAIT_MS = 10_000;
/** If the address still answers, most likely a session was lost and not the server, or one server of several. */
const ANSWERING_WAIT_MS = 1_500;
/** The reason is cached for this long, counted from the request. */
const KEPT_MS = 20_000;
const LOSSES = ["SESSION_LOST", "CONNECTION_FAILED"];

/** Looks up the reason once for all calls that were lost at the same time. Other errors are not changed. */
export function createExitExplainer({ url, ended }: WatchedServer): ExplainExit {
  let cached: { reason: Promise<string | undefined>; until: number } | undefined;
  const ask = async (): Promise<string | undefined> => {
    const watching = new AbortController();
    const stop = (): void => watching.abort();
    const exit = ended(watching.signal);
    const soon = await withLimits(exit, { timeoutMs: ANSWERING_WAIT_MS }, () => {}).catch(() => undefined);
    if (soon !== undefined || (await isHealthy(url, ANSWERING_WAIT_MS))) {
      stop();
      return soon;
    }
    return withLimits(exit, { timeoutMs: WAIT_MS - ANSWERING_WAIT_MS }, stop).catch(() => undefined);
  };
  return async (error, limits) => {
    if (!(error instanceof ConnectionError && LOSSES.includes(error.code))) return error;
    if (cached === undefined || performance.now() > cached.until)
      cached = { reason: ask(), until: performance.now() + KEPT_MS };
    const reason = await withLimits(cached.reason, limits, () => {}).catch(() => undefined);
    if (reason === undefined) return error;
    const message = `${error.message} Its server has ended (${reason.replace(/\.$/, "")}).`;
    return new ConnectionError(error.code, message, { cause: error });
  };
}

/** The remaining limits of a call that started at `begunAt`. */
export function limitsLeft({ timeoutMs, signal }: CallOptions, startedAt: number): CallOptions {
  return { timeoutMs: timeoutMs && Math.max(0, timeoutMs - (performance.now() - startedAt)), signal };
}
