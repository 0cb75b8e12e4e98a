/** A server that has the environments of some sessions. */
export interface Upstream {
  /** `process 41`, or its URL. */
  readonly name: string;
  readonly url: string;
}

/** A session's place on an upstream, until it is disposed. */
export interface UpstreamPlace extends Disposable {
  readonly upstream: Upstream;
  /** Resolves with the reason when the upstream has ended or hangs: `process 41 ended with signal 9`. */
  readonly ended: Promise<string>;
  /** Call it for each episode that begins: a process is replaced after a number of them. */
  countEpisode(): void;
  /** Call it when the upstream has refused or lost a session: it gets no more until it has answered a ping. */
  suspect(): void;
}

export interface UpstreamStatus {
  readonly name: string;
  /** Undefined while it does not run. */
  readonly url: string | undefined;
  /** `waiting`: the next start is delayed. `draining`: takes no more sessions, and still has some. */
  readonly state: "starting" | "ready" | "waiting" | "draining";
  readonly sessions: number;
  /** Since the fleet started. */
  readonly episodes: number;
  readonly restarts: number;
  /** Resident memory of its process group; 0 where it is not known. */
  readonly memoryBytes: number;
}

/** Upstreams, which are replaced when they end. */
export interface Fleet extends AsyncDisposable {
  /** The number of sessions that the living upstreams can have at the same time. */
  capacity(): number;
  /** The listener is called when the capacity has changed. */
  onChange(listener: () => void): void;
  /** A place on the living upstream with the fewest sessions; waits until there is one. Rejects at the signal. */
  take(signal: AbortSignal): Promise<UpstreamPlace>;
  readonly upstreams: readonly UpstreamStatus[];
}
