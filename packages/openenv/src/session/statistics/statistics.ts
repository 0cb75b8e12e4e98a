import type { Fault } from "../../errors.js";
import type { ErrorData, WireCode } from "../../protocol/messages.js";
import { MAX_REPORTED_ERRORS, type ServerViewError } from "../../protocol/web.js";
import { clip } from "../../util/text/clip.js";
import { Failures } from "./failures.js";
import { COUNTED, type RejectionReason, startCounts } from "./metrics.js";

const MAX_MESSAGE = 500;

/** The session in which an error occurred. */
interface Faulty {
  readonly id: string;
  readonly stepCount: number;
}

/** Statistics of one server since its start. Counting a step allocates no memory. */
export class Statistics {
  readonly counts = startCounts(COUNTED);
  /** Errors sent to clients, by code and by who caused them. */
  readonly errors: Partial<Record<WireCode, Partial<Record<Fault, number>>>> = {};
  /** False if the last call of the journal failed because of the store; null without a journal. */
  journalUp: boolean | null = null;
  readonly failures = new Failures();
  readonly #recent: Omit<ServerViewError, "worker">[] = [];

  /** Counts an answered step; the times are from `performance.now()`. */
  endStep(arrivedAt: number, startedAt: number): void {
    this.counts.openenv_steps_total++;
    this.counts.openenv_step_duration_seconds.record(performance.now() - arrivedAt);
    this.counts.openenv_step_wait_seconds.record(startedAt - arrivedAt);
  }

  countRejection(reason: RejectionReason): void {
    this.counts.openenv_rejections_total[reason]++;
  }

  /** Counts an error sent to a client. */
  countError({ code, message, fault }: ErrorData, session?: Faulty): void {
    const counts = (this.errors[code] ??= {});
    counts[fault] = (counts[fault] ?? 0) + 1;
    const error = {
      at: Date.now() / 1000,
      code,
      fault,
      message: clip(message, MAX_MESSAGE),
      session_id: session?.id ?? null,
      step: session?.stepCount ?? null,
    };
    this.failures.add(error);
    this.#recent.push(error);
    if (this.#recent.length > MAX_REPORTED_ERRORS) this.#recent.shift();
  }

  /** Recent errors, the newest last. */
  recentErrors(): readonly Omit<ServerViewError, "worker">[] {
    return this.#recent;
  }
}
