import { ConnectionError } from "../../errors.js";
import type { CallOptions } from "../options.js";
import { isHealthy } from "./health.js";
import { withLimits } from "./limits.js";

/** Resolves with why a server has ended, once it has; `signal` ends the watching. */
export type WaitForExit = (signal: AbortSignal) => Promise<string>;

/** The error of a call with why the server has ended, if that is told before the limits of the call end. */
export type ExplainExit = (error: unknown, limits: CallOptions) => Promise<unknown>;

/** A server that was started, and what tells why it has ended. */
interface WatchedServer {
  url: string;
  ended: WaitForExit;
}

/** Whoever runs a server learns of its end a moment after its connections have broken: a scheduler takes seconds. */
const WAIT_MS = 10_000;
/** Where the address still answers, it has most likely lost a session and not its server; or one server of several. */
const ANSWERING_WAIT_MS = 1_500;
/** Whoever asks again within it gets the same answer; it begins with the question. */
const KEPT_MS = 20_000;
const LOSSES = ["SESSION_LOST", "CONNECTION_FAILED"];

/** Asks once for all calls that were lost at the same time. Errors that are no loss stay as they are. */
export function createExitExplainer({ url, ended }: WatchedServer): ExplainExit {
  let asked: { reason: Promise<string | undefined>; until: number } | undefined;
  const ask = async (): Promise<string | undefined> => {
    const watching = new AbortController();
    const stop = (): void => watching.abort();
    const told = ended(watching.signal);
    const soon = await withLimits(told, { timeoutMs: ANSWERING_WAIT_MS }, () => {}).catch(() => undefined);
    if (soon !== undefined || (await isHealthy(url, ANSWERING_WAIT_MS))) {
      stop();
      return soon;
    }
    return withLimits(told, { timeoutMs: WAIT_MS - ANSWERING_WAIT_MS }, stop).catch(() => undefined);
  };
  return async (error, limits) => {
    if (!(error instanceof ConnectionError && LOSSES.includes(error.code))) return error;
    if (asked === undefined || Date.now() > asked.until) asked = { reason: ask(), until: Date.now() + KEPT_MS };
    const reason = await withLimits(asked.reason, limits, () => {}).catch(() => undefined);
    if (reason === undefined) return error;
    const message = `${error.message} Its server has ended (${reason.replace(/\.$/, "")}).`;
    return new ConnectionError(error.code, message, { cause: error });
  };
}

/** What is left of the limits of a call that began at that time. */
export function limitsLeft({ timeoutMs, signal }: CallOptions, begunAt: number): CallOptions {
  return { timeoutMs: timeoutMs && Math.max(0, timeoutMs - (Date.now() - begunAt)), signal };
}
