import { createHash, timingSafeEqual } from "node:crypto";
import type { Batch } from "#core/session/batch.js";
import { Cancels } from "#core/session/calls/cancels.js";
import { type ErrorMessage, errorMessage } from "#core/session/messages/message-codec.js";
import type { DurableHolder, Frame, KeptSession, Withheld } from "#core/session/registry/session-keeper.js";
import type { Session } from "#core/session/session.js";
import { after } from "#core/util/async/after.js";
import { isThenable } from "#core/util/async/thenable.js";
import type { Eventual } from "#core/util/types.js";
import { policyOf, type ResumePolicy } from "./resume-policy.js";
import type { SessionJournal } from "./session-journal.js";
import { stepCrashed } from "./step-crashed.js";
import type { StoredAnswers } from "./stored-answers.js";

/** A request with a number, as it was received. */
export interface NumberedRequest {
  seq: number;
  /** The highest number whose answer the client has received. */
  ack: number;
  /** What is kept of it to compare repeats. */
  request: Frame;
  isRepeat(stored: Frame): boolean;
}

/** A session, or a batch, that outlives its connection: its client proves the token on the next one. */
export class DurableSession implements KeptSession {
  readonly target: Session | Batch;
  /** SHA-256 of the client's token, hexadecimal, or of the name in its address. */
  readonly tokenHash: string;
  readonly policy: ResumePolicy;
  readonly answers: StoredAnswers;
  readonly cancels = new Cancels();
  /** What another process restores the session from, if the server has a journal. */
  journal: SessionJournal | undefined;
  /** Undefined while no connection is attached. */
  holder: DurableHolder | undefined;
  /** The highest number of a connection; -1 before one. A frame of an earlier one that arrives late takes nothing over. */
  attempt = -1;
  /** When the last connection was lost, by the clock of `performance.now()`. */
  detachedAt = performance.now();
  /** The last connection was that of a page that was left: it is loaded again within seconds, or it was closed. */
  isPageLeft = false;
  /** The client ends the session, or another process has it. */
  isReleased = false;

  constructor(target: Session | Batch, tokenHash: string, answers: StoredAnswers) {
    this.target = target;
    this.tokenHash = tokenHash;
    this.policy = policyOf({ id: target.key, tokenHash });
    this.answers = answers;
  }

  /** The name of the session in the server and in the journal. */
  get key(): string {
    return this.target.key;
  }

  /** Those that are open. */
  get sessions(): Session[] {
    const { target } = this;
    return "sessions" in target ? [...target.sessions].filter(({ ended }) => !ended) : [target];
  }

  get isRestorable(): boolean {
    return this.journal?.isRestorable === true;
  }

  /** Leaves the session to another process, to which its client comes. */
  release(): void {
    this.journal?.release(this.sessions.some(({ busy }) => busy));
    this.isReleased = true;
    this.holder?.moved();
  }

  /**
   * Executes a request with a number once, and returns its stored answer when it is repeated. `run` answers it; with a
   * refusal, it renders that instead.
   */
  answerOnce(
    { seq, ack, request, isRepeat }: NumberedRequest,
    run: (refusal?: ErrorMessage) => Eventual<Frame>,
  ): Frame | Promise<Frame | Withheld> {
    const { answers, journal } = this;
    answers.acknowledge(ack);
    const stored = answers.admit(seq, request, isRepeat);
    if (typeof stored === "object" && "code" in stored) return run(errorMessage(stored.code, stored.message));
    if (stored !== undefined) return stored;
    const answer = journal === undefined ? run() : this.#commit(journal, { seq, ack, request }, run);
    answers.store(seq, answer);
    return answer;
  }

  #commit(
    journal: SessionJournal,
    { seq, ack, request }: Omit<NumberedRequest, "isRepeat">,
    run: (refusal?: ErrorMessage) => Eventual<Frame>,
  ): Frame | Promise<Frame | Withheld> {
    const answered = after(journal.begin(seq), (isCrashed) =>
      run(isCrashed ? (stepCrashed("step") as ErrorMessage) : undefined),
    );
    const store = (answer: Frame): Frame | Promise<Frame | Withheld> => {
      const stored = journal.store({ seq, request, answer }, ack);
      return stored === undefined ? answer : stored.then((withheld) => withheld ?? answer);
    };
    return isThenable(answered) ? Promise.resolve(answered).then(store) : store(answered);
  }
}

/** Compares in constant time. */
export function isTokenOf(known: Pick<DurableSession, "tokenHash"> | undefined, token: string): boolean {
  if (known === undefined) return false;
  const hash = createHash("sha256").update(token).digest();
  return timingSafeEqual(hash, Buffer.from(known.tokenHash, "hex"));
}
