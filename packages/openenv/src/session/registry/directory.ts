import type { Eventual } from "../../util/types.js";
import type { Workers } from "./options.js";
import type { SessionKeeper } from "./session-keeper.js";
import type { Sessions } from "./sessions.js";

/** A client's name of its session: the id that the server gave it, or the hash of a name that the client chose. */
export interface SessionKey {
  readonly id?: string | undefined;
  /** SHA-256 of the name, hexadecimal. It counts if both are given. */
  readonly address?: string | undefined;
}

type Holder = Awaited<ReturnType<SessionKeeper["holderOf"]>>;

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
    const holder = this.#sessions.keeper?.holderOf(id);
    return holder === undefined ? workers.workerOf(id) : this.#locateMoved(id, workers, holder);
  }

  /** True when requests can name a session of this worker by the id. */
  has(id: string): boolean {
    const { keeper, named } = this.#sessions;
    return keeper?.has(id) === true || named.has(id);
  }

  /** With a journal, a session may have been continued by another worker than the one that its id names. */
  async #locateMoved(id: string, workers: Workers, holder: Promise<Holder>): Promise<number | undefined> {
    const entry = await holder;
    if (entry !== undefined) return workers.workerOf(entry.sibling ?? id);
    // A session by address is not in the journal by its id.
    return (await workers.workerWith(id)) ?? workers.workerOf(id);
  }
}
