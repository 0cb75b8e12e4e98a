import type { MaybePromise } from "../util/types.js";
import type { Environment } from "./environment.js";

/** Runs the environments of sessions outside of this thread. Disposing of it ends all of them. */
export interface EnvironmentHost extends AsyncDisposable {
  /** Creates the environment of one session. Rejects with the factory's error, or with SessionKilledError. */
  create(): MaybePromise<Hosted>;
}

/** An environment outside of this thread, which can be lost between calls and during them. */
export interface Hosted extends Environment {
  readonly [hosted]: true;
  /** Why it was lost; undefined while it runs. */
  readonly lost: string | undefined;
  /** Calls the listener once when it is lost before it was closed; immediately if it already is. */
  onLost(listener: (reason: string) => void): void;
}

/** A symbol, because the members of an author's environment can have any name. */
export const hosted: unique symbol = Symbol("openenv.hosted");

export function isHosted(environment: Environment | undefined): environment is Hosted {
  return environment !== undefined && hosted in environment;
}

/** The key of `globalThis` that marks a thread or process in which a host runs environments. */
export const HOST_MARK = Symbol.for("openenv.isolate");
