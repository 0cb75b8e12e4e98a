/**
 * Starts environments: as a process, in a container or on a cluster. A factory (`dockerProvider()`) creates it with
 * options for how to start; a {@link StartSpec} says what to start.
 */
export interface Provider {
  /** `process`, `docker`, `swarm`, `uv`, `slurm`, `kubernetes` … */
  readonly name: string;
  /** True when the provider can start several servers behind one URL; other providers reject `replicas`. */
  readonly hasReplicas?: boolean;
  /**
   * The call with which another process creates the same provider; `checkProvider` uses it to kill a process that has
   * started something.
   */
  readonly descriptor?: ProviderDescriptor;
  /**
   * Starts an environment and resolves once it has answered a reset over its WebSocket.
   * @throws ConfigError for a source that this provider cannot start or an unknown option, ProviderError with the last
   * lines of the log when the start fails; nothing is left running then.
   */
  start(spec: StartSpec): Promise<StartedServer>;
}

/** A call that another process can repeat. */
export interface ProviderDescriptor {
  /** URL of a module. */
  module: string;
  /** Name of the exported function. */
  factory: string;
  /** Its only argument; plain data. */
  options: unknown;
}

/** What to start, with the options that every provider has. */
export type StartSpec = StartSource & StartOptions;

/**
 * What to start: an image, a folder or module on this machine, or the URL of a git repository (a trailing `#ref`
 * selects a branch, tag or commit).
 */
export type StartSource = { image: string } | { directory: string } | { git: string };

export interface StartOptions {
  /** Environment variables of the started server. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for the whole start: pull, boot and readiness; default 120,000. */
  timeoutMs?: number | undefined;
  /** Aborts the start; a started server is closed with `close()`. */
  signal?: AbortSignal | undefined;
  /** Number of servers behind the one URL. */
  replicas?: number | undefined;
  /** Called with one line of progress, for example of an image pull. */
  onProgress?: ((line: string) => void) | undefined;
}

/** A server that runs until `close()`. */
export interface StartedServer extends AsyncDisposable {
  /** URL for `connect`. */
  readonly url: string;
  /** Returns the last lines of standard output and standard error, at most 64 KB. */
  logs(): Promise<string>;
  /**
   * Resolves with the reason once the server has ended by itself: `slurm: Job 7 is NODE_FAIL (NodeDown)`. `signal`
   * stops the watch. Undefined where this cannot be detected.
   */
  ended?(signal: AbortSignal): Promise<string>;
  /** Stops the server and removes its resources. Idempotent. */
  close(): Promise<void>;
}

export const DEFAULT_START_TIMEOUT_MS = 120_000;
