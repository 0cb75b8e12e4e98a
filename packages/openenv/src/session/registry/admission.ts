import { errorData } from "../../protocol/messages.js";
import { after } from "../../util/async/after.js";
import { isThenable } from "../../util/async/thenable.js";
import type { Eventual } from "../../util/types.js";
import { OVER_HTTP, type SessionOpener } from "../attachable-session.js";
import type { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import type { SessionsOptions } from "./options.js";
import type { Waiter } from "./session-queue.js";

type Admit = NonNullable<SessionsOptions["admit"]>;

interface Place {
  hasLeft: boolean;
  release: (() => void) | undefined;
}

const GONE = errorData("SESSION_ERROR", "The peer left before its session was open.");

/** Asks plugins whether a peer may open a session. What they hold for it ends with the session, or when it gets none. */
export class Admission {
  readonly #admit: Admit | undefined;
  readonly #places = new Map<Waiter, Place>();

  constructor(admit: Admit | undefined) {
    this.#admit = admit;
  }

  /** Calls `open` for a peer that may open a session. @throws SessionRejectedError, or rejects with it. */
  ask(
    { opener, waiter }: { opener: SessionOpener | undefined; waiter?: Waiter | undefined },
    open: (opener: SessionOpener | undefined) => Eventual<Session>,
  ): Eventual<Session> {
    const admit = this.#admit;
    if (admit === undefined) return open(opener);
    const place: Place = { hasLeft: false, release: undefined };
    if (waiter !== undefined) this.#places.set(waiter, place);
    const asked = opener ?? OVER_HTTP;
    const take = (release: (() => void) | undefined): Eventual<Session> => {
      place.release = release;
      if (place.hasLeft) throw new SessionRejectedError(GONE);
      return open({ ...asked, release });
    };
    const opened = (session: Session): Session => {
      if (waiter !== undefined) this.#places.delete(waiter);
      return session;
    };
    const fail = (error: unknown): never => {
      if (waiter !== undefined) this.#places.delete(waiter);
      place.release?.();
      throw error;
    };
    try {
      const opening = after(admit(asked), take);
      return isThenable(opening) ? opening.then(opened, fail) : opened(opening);
    } catch (error) {
      return fail(error);
    }
  }

  /** The peer does not wait for a session any more. */
  leave(waiter: Waiter): void {
    const place = this.#places.get(waiter);
    if (place === undefined) return;
    this.#places.delete(waiter);
    place.hasLeft = true;
    place.release?.();
  }
}
