import type { MaybePromise } from "../util/types.js";

/** `server`: plain JSON that all processes of a server get. `worker`: one in each process. `session`: one in each session. */
export type ResourceScope = "server" | "worker" | "session";

/** Something that sessions use and that takes time to open, such as a database or a browser. */
export interface Resource<T = unknown> {
  /** Opens it. The signal aborts after the time limit, or when the session that needs it has ended. */
  open(signal: AbortSignal): MaybePromise<T>;
  /** Called once for each that was opened, after the sessions that use it have closed. */
  close?(value: T): MaybePromise<void>;
  /** Default `session`. */
  scope?: ResourceScope;
  /** The number that a server keeps open for later sessions; default 0. Only with the scope `session`. */
  spares?: number;
  /** Called before a session gets one that has been open for a while. Unless it returns true, another is opened. */
  check?(value: T): MaybePromise<boolean>;
  /** Milliseconds for `open`, and for `check`; default 60,000. */
  timeoutMs?: number;
}

/** The resources of an environment by their names. */
export type ResourcesOf<R> = { readonly [K in keyof R]: Resource<R[K]> };

/** The resources of an environment in this process, as its servers use them. */
export interface HeldResources {
  readonly names: Readonly<Record<ResourceScope, string[]>>;
  /**
   * Opens what a server needs before it listens: resources that sessions share, and spares. They stay open until the result
   * is disposed of. With isolation only those of the scope `server`.
   * @throws EnvironmentError naming the resource.
   */
  hold(options?: { spares?: boolean; isolated?: boolean }): Promise<AsyncDisposable>;
  /** The values of the scope `server`, for an isolate. */
  shared(): Promise<Record<string, unknown>>;
  /** Takes the values that {@link shared} returned in the process of the server. */
  give(values: Readonly<Record<string, unknown>>): void;
}
