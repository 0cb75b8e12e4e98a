import type { BatchReply } from "../../protocol/batch.js";
import type { SessionOpener } from "../../session/held-session.js";
import type { Waiter } from "../../session/registry/session-queue.js";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Session } from "../../session/session.js";
import type { SessionRejectedError } from "../../session/session-rejected-error.js";
import { isThenable } from "../../util/async/thenable.js";

/** None of them can be named: nobody else may end them anyway. */
const OPENER: SessionOpener = { client: "batch", orchestrator: false };

/** The sessions of one socket with the extension `batch`: each has a slot, and all end with the socket. */
export class Batch {
  readonly #sessions: Sessions;
  readonly #open = new Map<number, Session>();
  /** Those that wait for a session. */
  readonly #waiting = new Set<Waiter>();
  #next = 0;
  #ended = false;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  get(number: number): Session | undefined {
    return this.#open.get(number);
  }

  /** Opens one session, or says why not. Never throws or rejects. */
  open(): BatchReply | Promise<BatchReply> {
    const applicant: Waiter = {};
    const refused = (refusal: SessionRejectedError): BatchReply => {
      this.#waiting.delete(applicant);
      return { type: "error", data: refusal.data };
    };
    try {
      const opened = this.#sessions.open(applicant, OPENER);
      if (!isThenable(opened)) return this.#adopt(opened);
      this.#waiting.add(applicant);
      return opened.then((session) => {
        this.#waiting.delete(applicant);
        return this.#adopt(session);
      }, refused);
    } catch (refusal) {
      return refused(refusal as SessionRejectedError);
    }
  }

  close(number: number): void {
    const session = this.#open.get(number);
    if (session !== undefined) this.#sessions.end(session, "closed by the client");
  }

  /** The socket has closed: all slots are freed now, also those of sessions in the middle of a step. */
  end(reason: string): void {
    this.#ended = true;
    for (const applicant of this.#waiting) this.#sessions.leave(applicant);
    this.#waiting.clear();
    for (const session of [...this.#open.values()]) this.#sessions.end(session, reason);
  }

  #adopt(session: Session): BatchReply {
    const number = this.#next++;
    this.#open.set(number, session);
    session.attach(() => this.#open.delete(number));
    if (this.#ended) this.#sessions.end(session, "disconnected");
    return { type: "opened", data: { session: number } };
  }
}
