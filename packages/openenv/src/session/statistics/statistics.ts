import type { Fault } from "../../errors.js";
import type { ErrorData, WireCode } from "../../protocol/messages.js";
import { MAX_REPORTED_ERRORS, type ServerViewError } from "../../protocol/web.js";
import { clip } from "../../util/text/clip.js";
import { Histogram } from "./histogram.js";
import { JournalStatistics } from "./journal-statistics.js";

const MAX_MESSAGE = 500;

/**
 * Why a session was not opened: `full`: all are in use; `queue_timeout`: none became free within `QUEUE_TIMEOUT`;
 * `http_reset`: all are in use, so an HTTP reset got an environment for that request only; `paused` by an operator;
 * `draining`; `descriptors`: no file descriptors are left.
 */
export const REJECTION_REASONS = ["full", "queue_timeout", "http_reset", "paused", "draining", "descriptors"] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

/** The session in which an error occurred. */
interface Faulty {
  readonly id: string;
  readonly stepCount: number;
}

/** Statistics of one server since its start. Counting a step allocates no memory. */
export class Statistics {
  /** Number of opened sessions. */
  sessions = 0;
  steps = 0;
  /** NaN and infinities that were sent as null. */
  nonFinite = 0;
  /** Durations of successful steps from the arrival of the message to the answer, without the network. */
  readonly latency = new Histogram();
  /** The same for resets. */
  readonly resets = new Histogram();
  /** The time from arrival to start of each step in `latency`. */
  readonly stepWait = new Histogram();
  /** The time in the queue of each peer that got a session. */
  readonly sessionWait = new Histogram();
  /** Errors sent to clients, by code and by who caused them. */
  readonly errors: Partial<Record<WireCode, Partial<Record<Fault, number>>>> = {};
  readonly journal = new JournalStatistics();
  readonly rejections: Partial<Record<RejectionReason, number>> = {};
  readonly #recent: Omit<ServerViewError, "worker">[] = [];

  /** Counts an answered step; the times are from `performance.now()`. */
  endStep(arrivedAt: number, startedAt: number): void {
    this.steps++;
    this.latency.record(performance.now() - arrivedAt);
    this.stepWait.record(startedAt - arrivedAt);
  }

  countRejection(reason: RejectionReason): void {
    this.rejections[reason] = (this.rejections[reason] ?? 0) + 1;
  }

  /** Counts an error sent to a client. */
  countError({ code, message, fault }: ErrorData, session?: Faulty): void {
    const counts = (this.errors[code] ??= {});
    counts[fault] = (counts[fault] ?? 0) + 1;
    this.#recent.push({
      at: Date.now() / 1000,
      code,
      fault,
      message: clip(message, MAX_MESSAGE),
      session_id: session?.id ?? null,
      step: session?.stepCount ?? null,
    });
    if (this.#recent.length > MAX_REPORTED_ERRORS) this.#recent.shift();
  }

  /** Recent errors, the newest last. */
  recentErrors(): readonly Omit<ServerViewError, "worker">[] {
    return this.#recent;
  }
}
