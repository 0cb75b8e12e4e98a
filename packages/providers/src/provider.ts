/**
 * Starts environments somewhere: as a process, in a container, on a cluster. Made by a factory (`dockerProvider()`),
 * whose options say how; a {@link StartSpec} says what.
 */
export interface Provider {
  /** `process`, `docker`, `swarm`, `uv`, `slurm`, `kubernetes` … */
  readonly name: string;
  /** True for one that starts several behind one URL; the others refuse `replicas`. */
  readonly hasReplicas?: boolean;
  /** How another process makes the same provider: `checkProvider` needs it to end a process that has started something. */
  readonly descriptor?: ProviderDescriptor;
  /**
   * Starts an environment and resolves once a reset over its WebSocket was answered.
   * @throws ConfigError for what this provider cannot start or an option it does not know, ProviderError with the last
   * lines of the log when the start fails; then nothing of it is left.
   */
  start(spec: StartSpec): Promise<StartedServer>;
}

/** A call that another process can make as well. */
export interface ProviderDescriptor {
  /** URL of a module. */
  module: string;
  /** The name of the function that the module exports. */
  factory: string;
  /** Its one argument; plain data. */
  options: unknown;
}

/** What to start, and the options that every provider has. */
export type StartSpec = StartSource & StartOptions;

/** What to start: an image, a folder (or module) on this machine, or a git repository (`#ref` at its end names a version). */
export type StartSource = { image: string } | { directory: string } | { git: string };

export interface StartOptions {
  /** Variables of the environment, set for what is started only. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for the whole start: pull, boot and readiness; default 120,000. */
  timeoutMs?: number | undefined;
  /** Aborts the start; what has started is ended with `close()`. */
  signal?: AbortSignal | undefined;
  /** How many to start behind the one URL. */
  replicas?: number | undefined;
  /** Told in one line how far the start is: the pull of an image, for example. */
  onProgress?: ((line: string) => void) | undefined;
}

/** An environment that runs until `close()`. */
export interface StartedServer extends AsyncDisposable {
  /** What `connect` takes. */
  readonly url: string;
  /** The last lines that it wrote, standard output and standard error; at most 64 KB. */
  logs(): Promise<string>;
  /**
   * Resolves, once it has ended by itself, with why: `slurm: Job 7 is NODE_FAIL (NodeDown)`. `signal` ends the watching.
   * Left out where that cannot be told.
   */
  ended?(signal: AbortSignal): Promise<string>;
  /** Ends it and removes what belongs to it. Doing it twice does no harm. */
  close(): Promise<void>;
}

export const DEFAULT_START_TIMEOUT_MS = 120_000;
