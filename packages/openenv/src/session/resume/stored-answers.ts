import type { ByteBudget } from "../../util/byte-budget.js";

/** Why a request with a sequence number is neither executed nor answered from the store. */
export type SequenceCode = "SEQUENCE_CONFLICT" | "SEQUENCE_GAP" | "SEQUENCE_OVERFLOW" | "ANSWER_EXPIRED";

export interface SequenceError {
  code: SequenceCode;
  message: string;
}

/** A text frame or a binary one. */
type Frame = string | Uint8Array;
type Answer = Frame | Promise<Frame>;

interface Entry {
  request: Frame;
  answer: Answer | undefined;
  bytes: number;
}

/**
 * The answers that a client has not acknowledged yet, by the sequence number of their requests. A repeated request gets
 * the stored answer and is not executed again.
 */
export class StoredAnswers {
  /** How many answers the client may leave unacknowledged. */
  readonly limit: number;
  readonly #budget: ByteBudget;
  readonly #entries = new Map<number, Entry>();
  #last = 0;

  constructor(budget: ByteBudget, limit: number) {
    this.#budget = budget;
    this.limit = limit;
  }

  /** The sequence number of the last request that was executed; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** Frees what the client has received: the answers up to this number. */
  acknowledge(ack: number): void {
    for (const [seq, { bytes }] of this.#entries) {
      if (seq > ack) return;
      this.#entries.delete(seq);
      this.#budget.give(bytes);
    }
  }

  /**
   * The stored answer of a repeated request, or undefined when the request is the next one and is to be executed;
   * its answer goes to {@link store}.
   */
  admit(seq: number, request: Frame, isSame: (stored: Frame) => boolean): Answer | SequenceError | undefined {
    if (seq > this.#last + 1) {
      return { code: "SEQUENCE_GAP", message: `seq ${seq} came after ${this.#last}: send seq ${this.#last + 1} first` };
    }
    if (seq <= this.#last) {
      const entry = this.#entries.get(seq);
      if (entry === undefined) {
        return {
          code: "ANSWER_EXPIRED",
          message: `the answer to seq ${seq} was acknowledged and is not stored any more`,
        };
      }
      if (isSame(entry.request)) return entry.answer;
      return {
        code: "SEQUENCE_CONFLICT",
        message: `seq ${seq} was another request: number each new request one higher`,
      };
    }
    // A session with one answer goes on when the memory is used up.
    if (this.#entries.size >= this.limit || (this.#budget.isFull && this.#entries.size > 0)) {
      const message = `${this.#entries.size} answers are not acknowledged: send ack with the highest seq answered`;
      return { code: "SEQUENCE_OVERFLOW", message };
    }
    this.#last = seq;
    this.#entries.set(seq, { request, answer: undefined, bytes: request.length });
    this.#budget.hold(request.length);
    return undefined;
  }

  /** Keeps the answer of a request that {@link admit} let through, before it is sent. */
  store(seq: number, answer: Answer): void {
    const entry = this.#entries.get(seq);
    if (entry === undefined) return;
    entry.answer = answer;
    if (typeof answer === "string" || answer instanceof Uint8Array) this.#charge(entry, answer);
    else
      void answer.then((late) => {
        entry.answer = late;
        if (this.#entries.get(seq) === entry) this.#charge(entry, late);
      });
  }

  /** Frees everything. */
  clear(): void {
    this.acknowledge(Number.POSITIVE_INFINITY);
  }

  #charge(entry: Entry, { length }: Frame): void {
    entry.bytes += length;
    this.#budget.hold(length);
  }
}
