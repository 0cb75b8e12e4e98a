import type { Eventual } from "../../util/types.js";
import type { SessionStore, Workers } from "./options.js";
import type { Sessions } from "./sessions.js";

/** A client's name of its session: the id that the server gave it, or the hash of a name that the client chose. */
export interface SessionKey {
  readonly id?: string | undefined;
  /** SHA-256 of the name, hexadecimal. It counts if both are given. */
  readonly address?: string | undefined;
}

/** Finds the worker that has a session. Every way into the server asks it before it handles a request. */
export class SessionDirectory {
  readonly #sessions: Sessions;
  readonly #workers: Workers | undefined;

  constructor(sessions: Sessions, workers: Workers | undefined) {
    this.#sessions = sessions;
    this.#workers = workers;
  }

  /**
   * The other worker that has the session; undefined for this worker, which also answers for a session that no worker has.
   * An address is reserved for the worker, so that no two workers open it. Whether another server has the session is only
   * decided when it is opened, because its lease may end at any time.
   */
  locate({ id, address }: SessionKey): Eventual<number | undefined> {
    const workers = this.#workers;
    if (workers === undefined) return undefined;
    if (address !== undefined) return workers.workerAt(address);
    if (id === undefined || this.has(id)) return undefined;
    const { journal } = this.#sessions;
    return journal === undefined ? workers.workerOf(id) : this.#locateMoved(id, workers, journal);
  }

  /** True when requests can name a session of this worker by the id. */
  has(id: string): boolean {
    const { named, durable } = this.#sessions;
    return durable.find(id) !== undefined || named.has(id);
  }

  /** With a journal, a session may have been continued by another worker than the one that its id names. */
  async #locateMoved(id: string, workers: Workers, journal: SessionStore): Promise<number | undefined> {
    const entry = await journal.holderOf(id);
    if (entry !== undefined) return workers.workerOf(entry.sibling ?? id);
    // A session by address is not in the journal by its id.
    return (await workers.workerWith(id)) ?? workers.workerOf(id);
  }
}
