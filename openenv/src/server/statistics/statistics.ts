import type { ErrorData, WireCode } from "../../protocol/messages.js";
import { MAX_TOLD_ERRORS, type ServerViewError } from "../../protocol/web.js";
import { clip } from "../../util/clip.js";
import { Histogram } from "./histogram.js";

const MAX_MESSAGE = 500;

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
  /** Steps that succeeded, from their start to their answer without the wire. */
  readonly latency = new Histogram();
  /** Errors that clients were told. */
  readonly errors: Partial<Record<WireCode, number>> = {};
  readonly #recent: Omit<ServerViewError, "worker">[] = [];

  /** A step was answered that had begun then, by the clock of `performance.now()`. */
  endStep(startedAt: number): void {
    this.steps++;
    this.latency.record(performance.now() - startedAt);
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
    if (this.#recent.length > MAX_TOLD_ERRORS) this.#recent.shift();
  }

  /** The newest last. */
  recentErrors(): readonly Omit<ServerViewError, "worker">[] {
    return this.#recent;
  }
}
