import { FactoryCall } from "../make-environment.js";
import type { Session } from "../session.js";
import type { SessionRejectedError } from "../session-rejected-error.js";

interface Waiting {
  /** What the client gets after the time limit. */
  refusal(): SessionRejectedError;
  timeoutMs: number;
}

/** The calls of the factory whose sessions are not open yet. */
export class FactoryWaits {
  /** Number of factories that wait for something that is not free. */
  waiting = 0;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  begin(session: Session, limits: Waiting): FactoryCall {
    session.factory = new FactoryCall((work) => this.#wait(session, work, limits), session.traceparent);
    return session.factory;
  }

  async #wait<T>(session: Session, work: PromiseLike<T>, { refusal, timeoutMs }: Waiting): Promise<T> {
    const since = performance.now();
    const { statistics } = session.runtime;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        statistics.countRejection("queue_timeout");
        const error = refusal();
        session.factory?.abort(error.message);
        reject(error);
      }, timeoutMs);
    });
    this.#count(1);
    try {
      const result = await Promise.race([work, late]);
      statistics.counts.openenv_session_wait_seconds.record(performance.now() - since);
      return result;
    } finally {
      clearTimeout(timer);
      this.#count(-1);
    }
  }

  #count(change: number): void {
    this.waiting += change;
    this.#changed();
  }
}
