import { setImmediate as nextTurn } from "node:timers/promises";
import { createPlay, type Playing } from "../play/play.js";
import type { BurstJob, BurstProgress, BurstResult, RequestRow } from "../types.js";
import { watchClient } from "./client-use.js";

/** Connections started in one turn of the event loop; responses are read between turns. */
const STARTED_PER_TURN = 128;

export interface BurstOptions {
  /** The source address of the next connection. */
  source: () => string | undefined;
  /** Ends every open request as INTERRUPTED. */
  signal: AbortSignal;
  onProgress?: (progress: BurstProgress) => void;
}

/**
 * Starts all requests at once and resolves when each has its row and its connection is closed.
 * @throws ConnectionError for an invalid URL. Failures of a request are in its row.
 */
export async function runBurst(job: BurstJob, { source, signal, onProgress }: BurstOptions): Promise<BurstResult> {
  const start = createPlay(job);
  const stopWatching = watchClient();
  const epoch = performance.now();
  const running = new Set<Playing>();
  const rows: Promise<RequestRow>[] = [];
  const closed: Promise<void>[] = [];
  const progress: BurstProgress = { succeeded: 0, failed: 0 };
  const interrupt = (): void => {
    for (const playing of running) playing.abort("INTERRUPTED");
  };
  signal.addEventListener("abort", interrupt);
  try {
    for (let started = 0; started < job.requests && !signal.aborted; started++) {
      if (started > 0 && started % STARTED_PER_TURN === 0) await nextTurn();
      const playing = start(epoch, source());
      running.add(playing);
      rows.push(
        playing.row.then((row) => {
          running.delete(playing);
          progress[row.success ? "succeeded" : "failed"]++;
          onProgress?.(progress);
          return row;
        }),
      );
      closed.push(playing.closed);
    }
    const done = await Promise.all(rows);
    const client = stopWatching();
    await Promise.all(closed);
    return { began: performance.timeOrigin + epoch, rows: done, wallSeconds: wallSeconds(done), client };
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}

/** Seconds from the start of the burst to the last response. */
function wallSeconds(rows: readonly RequestRow[]): number {
  return rows.reduce((last, { total_ms }) => Math.max(last, total_ms), 0) / 1000;
}
