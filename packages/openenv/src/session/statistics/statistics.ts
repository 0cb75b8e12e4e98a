import type { ErrorData, WireCode } from "../../protocol/messages.js";
import { MAX_REPORTED_ERRORS, type ServerViewError } from "../../protocol/web.js";
import { clip } from "../../util/text/clip.js";
import { Histogram } from "./histogram.js";

const MAX_MESSAGE = 500;

/**
 * Why a session was not opened: all are in use, none was free before `QUEUE_TIMEOUT`, all are in use and an HTTP reset
 * was answered by an environment for that request alone, an operator has paused the server, it drains, or it has no more
 * file descriptors.
 */
export const REJECTION_REASONS = ["full", "queue_timeout", "http_reset", "paused", "draining", "descriptors"] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

/** The session that an error happened in. */
interface Faulty {
  readonly id: string;
  readonly stepCount: number;
}

/** What happened on one server since its start. Steps pass here: counting one allocates nothing. */
export class Statistics {
  /** Sessions that were opened. */
  sessions = 0;
  steps = 0;
  /** NaN and infinities that went out as null. */
  nonFinite = 0;
  /** Steps that succeeded, from the arrival of the message to the answer, without the wire. */
  readonly latency = new Histogram();
  /** The same of resets. */
  readonly resets = new Histogram();
  /** Of each step in `latency`, the time from its arrival to its start. */
  readonly stepWait = new Histogram();
  /** Peers that got a session, from joining the queue to their turn. */
  readonly sessionWait = new Histogram();
  /** Errors that clients were told. */
  readonly errors: Partial<Record<WireCode, number>> = {};
  readonly rejections: Partial<Record<RejectionReason, number>> = {};
  readonly #recent: Omit<ServerViewError, "worker">[] = [];

  /** A step was answered; the times are of the clock of `performance.now()`. */
  endStep(arrivedAt: number, startedAt: number): void {
    this.steps++;
    this.latency.record(performance.now() - arrivedAt);
    this.stepWait.record(startedAt - arrivedAt);
  }

  countRejection(reason: RejectionReason): void {
    this.rejections[reason] = (this.rejections[reason] ?? 0) + 1;
  }

  /** A client was told an error. */
  countError({ code, message }: ErrorData, session?: Faulty): void {
    this.errors[code] = (this.errors[code] ?? 0) + 1;
    this.#recent.push({
      at: Date.now() / 1000,
      code,
      message: clip(message, MAX_MESSAGE),
      session_id: session?.id ?? null,
      step: session?.stepCount ?? null,
    });
    if (this.#recent.length > MAX_REPORTED_ERRORS) this.#recent.shift();
  }

  /** The newest last. */
  recentErrors(): readonly Omit<ServerViewError, "worker">[] {
    return this.#recent;
  }
}
