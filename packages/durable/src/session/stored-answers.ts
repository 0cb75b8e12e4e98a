import { type Frame, WITHHELD, type Withheld } from "#core/session/registry/session-keeper.js";
import type { ByteBudget } from "#parts/sockets/scheduling";

/** Why a request with a sequence number is neither executed nor answered from the store. */
export type SequenceCode = "SEQUENCE_CONFLICT" | "SEQUENCE_GAP" | "SEQUENCE_OVERFLOW" | "ANSWER_EXPIRED";

export interface SequenceError {
  code: SequenceCode;
  message: string;
}

type Answer = Frame | Promise<Frame | Withheld>;

interface Entry {
  request: Frame;
  answer: Answer | undefined;
  bytes: number;
}

/**
 * The answers that a client may fetch again, by the sequence number of their requests or by an id. A repeated request gets
 * the stored answer and is not executed again.
 */
export class StoredAnswers {
  /** Maximum number of answers that the client leaves unacknowledged. */
  readonly limit: number;
  readonly #budget: ByteBudget;
  readonly #share: number;
  readonly #numbered = new Map<number, Entry>();
  readonly #named = new Map<string, Entry>();
  #last = 0;
  #bytes = 0;

  /** `share`: bytes of the budget that these answers may fill; the last one is stored in any case. */
  constructor(budget: ByteBudget, limit: number, share: number) {
    this.#budget = budget;
    this.limit = limit;
    this.#share = share;
  }

  /** The bytes of the budget that they hold. */
  get bytes(): number {
    return this.#bytes;
  }

  get #isFull(): boolean {
    return this.#budget.isFull || this.#bytes >= this.#share;
  }

  /** The sequence number of the last request that was executed; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** Frees what the client has received: the answers up to this number. */
  acknowledge(ack: number): void {
    for (const [seq, entry] of this.#numbered) {
      if (seq > ack) return;
      this.#free(seq, entry);
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
      const entry = this.#numbered.get(seq);
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
    // A session without such answers continues when the memory is used up.
    if (this.#numbered.size >= this.limit || (this.#isFull && this.#numbered.size > 0)) {
      const held = `${this.#numbered.size} answers (${this.#bytes} bytes) are not acknowledged`;
      const message = `${held}: send ack with the highest seq answered`;
      return { code: "SEQUENCE_OVERFLOW", message };
    }
    this.#last = seq;
    this.#add(seq, request);
    return undefined;
  }

  /**
   * Admits a request with an id and without acknowledgements: each new request frees the oldest answer beyond the
   * limit, and all that are not awaited when the memory or its share of it is used up.
   */
  admitNamed(id: string, request: string): Answer | SequenceError | undefined {
    const entry = this.#named.get(id);
    if (entry !== undefined) {
      if (entry.request === request) return entry.answer;
      const message = `request_id "${id}" was another request: send a new id with each new request`;
      return { code: "SEQUENCE_CONFLICT", message };
    }
    for (const [key, old] of this.#named) {
      if (this.#named.size < this.limit && !this.#isFull) break;
      if (isComplete(old.answer)) this.#free(key, old);
    }
    this.#add(id, request);
    return undefined;
  }

  /** The request with this key and its answer, if there is one yet. */
  find(key: string): { request: Frame; answer: Answer | undefined } | undefined {
    return this.#named.get(key);
  }

  /** Frees what is stored with this key. */
  drop(key: string): void {
    const entry = this.#named.get(key);
    if (entry !== undefined) this.#free(key, entry);
  }

  has(id: string): boolean {
    return this.#named.has(id);
  }

  /** Frees all answers that have been made: a client with one request at a time has sent a new one. */
  freeComplete(): void {
    for (const [key, entry] of this.#named) if (isComplete(entry.answer)) this.#free(key, entry);
  }

  /** Keeps the answer of a request that {@link admit} let through, before it is sent. */
  store(key: number | string, answer: Answer): void {
    const entries = this.#entriesOf(key);
    const entry = entries.get(key);
    if (entry === undefined) return;
    entry.answer = answer;
    if (isComplete(answer)) this.#charge(entry, answer);
    else
      void answer.then((late) => {
        // A repeat gets the same.
        if (late === WITHHELD) return;
        entry.answer = late;
        if (entries.get(key) === entry) this.#charge(entry, late);
      });
  }

  /** Stores what a process before this one answered. */
  restore(key: number | string, request: Frame, answer: Answer): void {
    if (typeof key === "number") this.#last = Math.max(this.#last, key);
    this.#add(key, request);
    this.store(key, answer);
  }

  /** Frees everything. */
  clear(): void {
    for (const [key, entry] of this.#numbered) this.#free(key, entry);
    for (const [key, entry] of this.#named) this.#free(key, entry);
  }

  #entriesOf(key: number | string): Map<number | string, Entry> {
    return typeof key === "number" ? this.#numbered : this.#named;
  }

  #add(key: number | string, request: Frame): void {
    this.#entriesOf(key).set(key, { request, answer: undefined, bytes: request.length });
    this.#hold(request.length);
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.hold(bytes);
  }

  #free(key: number | string, { bytes }: Entry): void {
    this.#entriesOf(key).delete(key);
    this.#hold(-bytes);
  }

  #charge(entry: Entry, { length }: Frame): void {
    entry.bytes += length;
    this.#hold(length);
  }
}

function isComplete(answer: Answer | undefined): answer is Frame {
  return typeof answer === "string" || answer instanceof Uint8Array;
}
