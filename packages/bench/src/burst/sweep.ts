import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "openenv-ts/protocol";
import type { ServerLocation } from "../locate.js";
import type { LoadGenerator } from "./generator/generator.js";
import { readServerUse } from "./local-server.js";
import type { ResultFiles } from "./results/result-files.js";
import { type Burst, type Subject, type SummaryRow, summarise } from "./results/summary.js";
import type { BurstJob, BurstMode, BurstProgress, BurstResult } from "./types.js";

/** Time for a server to close the sessions of one burst before the next. */
const SETTLE_MS = 500;

export interface Sweep {
  servers: readonly ServerLocation[];
  modes: readonly BurstMode[];
  requestsGrid: readonly number[];
  waitGrid: readonly number[];
  reps: number;
  timeoutMs: number;
  /** The action of every step; default: the wait. */
  action: JsonObject | undefined;
  hardware: string;
  cores: number | null;
}

export interface SweepOptions {
  generator: LoadGenerator;
  files: ResultFiles;
  signal: AbortSignal;
  /** Starts the server of a burst, and resolves with what stops it. Without it the servers run already. */
  start?: ((server: ServerLocation) => Promise<() => Promise<void>>) | undefined;
  /** Called when no request of a first burst succeeded; throws when the reason is not the load. */
  checkSubject: (server: ServerLocation, mode: BurstMode) => Promise<void>;
  onProgress: (subject: Subject, burst: Burst, progress: BurstProgress) => void;
  /** Called when a burst is finished and written to disk. */
  onBurst: (row: SummaryRow, result: BurstResult) => void;
}

/**
 * Runs every batch at every wait, repeated. The subjects take turns, so that other load on the machine affects all
 * alike. A first burst with the first batch comes before all of them, unless each burst has a new server. Resolves with
 * the rows of the completed bursts; early when the signal is aborted.
 */
export async function runSweep(sweep: Sweep, options: SweepOptions): Promise<SummaryRow[]> {
  const { generator, files, signal, start, checkSubject, onProgress, onBurst } = options;
  const interrupt = (): void => generator.interrupt();
  signal.addEventListener("abort", interrupt);
  const singles: SummaryRow[] = [];
  const pooled: SummaryRow[] = [];
  try {
    for (const [nth, batch] of batchesOf(sweep).entries()) {
      const results = new Map<number, BurstResult[]>();
      for (const rep of repetitionsOf(sweep, nth === 0 && start === undefined)) {
        for (const [index, { server, mode }] of subjectsOf(sweep).entries()) {
          if (signal.aborted) return [...singles, ...pooled];
          const subject = { url: server.url, mode, hardware: sweep.hardware, cores: sweep.cores };
          const burst: Burst = { ...batch, rep };
          const stop = await start?.(server);
          let result: BurstResult;
          try {
            const job = jobOf(sweep, burst, { server, mode });
            result = await playOn(server, () =>
              generator.burst(job, (progress) => onProgress(subject, burst, progress)),
            );
            const isFirst = rep === (start === undefined ? "first" : 1);
            if (isFirst && !signal.aborted && !result.rows.some(({ success }) => success)) {
              await checkSubject(server, mode);
            }
          } finally {
            await stop?.();
          }
          files.addRequests(subject, burst, result.rows);
          // An interrupted burst says nothing about the server.
          if (signal.aborted) return [...singles, ...pooled];
          const row = summarise(subject, burst, [result]);
          singles.push(row);
          if (rep !== "first") {
            const alike = [...(results.get(index) ?? []), result];
            results.set(index, alike);
            const all = summarise(subject, { ...batch, rep: "all" }, alike);
            const at = pooled.findIndex((other) => isAlike(other, all));
            pooled.splice(at < 0 ? pooled.length : at, at < 0 ? 0 : 1, all);
          }
          files.writeSummary([...singles, ...pooled]);
          onBurst(row, result);
          await sleep(SETTLE_MS);
        }
      }
    }
    return [...singles, ...pooled];
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}

/** Adds what the processes of a server on this machine used. */
async function playOn({ local, port }: ServerLocation, play: () => Promise<BurstResult>): Promise<BurstResult> {
  const before = local ? readServerUse(port).cpuSeconds : 0;
  const result = await play();
  const used = local ? readServerUse(port).cpuSeconds - before : 0;
  return used > 0 ? { ...result, serverCpuSeconds: used } : result;
}

/** The action of a step with this wait. */
export function waitAction(seconds: number): JsonObject {
  return { wait_seconds: seconds };
}

function batchesOf({ requestsGrid, waitGrid }: Sweep): { requests: number; wait_seconds: number }[] {
  return waitGrid.flatMap((wait_seconds) => requestsGrid.map((requests) => ({ requests, wait_seconds })));
}

function repetitionsOf({ reps }: Sweep, areFirst: boolean): (number | "first")[] {
  const repetitions = Array.from({ length: reps }, (_, index) => index + 1);
  return areFirst ? ["first", ...repetitions] : repetitions;
}

function subjectsOf({ servers, modes }: Sweep): { server: ServerLocation; mode: BurstMode }[] {
  return servers.flatMap((server) => modes.map((mode) => ({ server, mode })));
}

function jobOf(sweep: Sweep, burst: Burst, { server, mode }: { server: ServerLocation; mode: BurstMode }): BurstJob {
  const { url, address, token } = server;
  const action = sweep.action ?? waitAction(burst.wait_seconds);
  return { url, address, token, mode, action, requests: burst.requests, timeoutMs: sweep.timeoutMs };
}

function isAlike(one: SummaryRow, other: SummaryRow): boolean {
  return (["url", "mode", "requests", "wait_seconds"] as const).every((key) => one[key] === other[key]);
}
