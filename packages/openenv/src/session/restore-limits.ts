/** What a session keeps of its past, and how long a restore may take. */
export interface RestoreLimits {
  /** Bytes of a snapshot, or characters of its JSON. */
  snapshotBytes: number;
  /** Events of an episode that are kept for a replay. */
  replayEvents: number;
  /** The time that a replay, or a `restore()` of an environment, may take. */
  replayMs: number;
  /** Bytes or characters of the events or the states that a session keeps. */
  historyBytes: number;
}

export const RESTORE_DEFAULTS: RestoreLimits = {
  snapshotBytes: 64 * 1024 * 1024,
  replayEvents: 10_000,
  replayMs: 60_000,
  historyBytes: 32 * 1024 * 1024,
};
