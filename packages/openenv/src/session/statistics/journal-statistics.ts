import { Histogram } from "./histogram.js";

/**
 * The results of a restore: the session continues; it is lost; another server still has it; or the journal, or the room
 * for it, is missing now.
 */
export const RESTORE_RESULTS = ["restored", "lost", "elsewhere", "unavailable"] as const;
export type RestoreResult = (typeof RESTORE_RESULTS)[number];

/** Statistics of the journal of one process. */
export class JournalStatistics {
  /** False if its last call failed because of the store; null without a journal. */
  isUp: boolean | null = null;
  /** Durations of commits that succeeded. */
  readonly commits = new Histogram();
  readonly restores: Record<RestoreResult, number> = { restored: 0, lost: 0, elsewhere: 0, unavailable: 0 };
}
