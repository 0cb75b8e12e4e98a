import type { BurstJob, BurstProgress, BurstResult, RequestRow } from "../types.js";
import { joinUse } from "./client-use.js";
import { forkGenerator } from "./fork.js";
import { createGenerator, type LoadGenerator, type LoadJob, type StepsResult } from "./generator.js";

/**
 * Combines several generators; a single one runs in this process. Cold ones have new processes for each burst, which
 * have compiled nothing yet, as the server.
 */
export function createGenerators(count: number, areCold = false): LoadGenerator {
  if (count === 1 && !areCold) return createGenerator();
  const start = (): LoadGenerator[] => Array.from({ length: count }, (_, number) => forkGenerator(number));
  const close = async (): Promise<void> => void (await Promise.all(all.map((generator) => generator.close())));
  let all = areCold ? [] : start();
  let working = all;
  let open = 0;
  return {
    async burst(job, onProgress) {
      if (areCold) all = start();
      const seen: BurstProgress[] = [];
      const parts = share(job.requests, count).map((requests): BurstJob => ({ ...job, requests }));
      const played = settle(
        parts.map((part, index) =>
          (all[index] as LoadGenerator).burst(part, (progress) => {
            seen[index] = progress;
            onProgress(sum(seen));
          }),
        ),
      );
      return joinBursts(await (areCold ? played.finally(close) : played));
    },
    async open(job) {
      const parts = share(job.connections, count).map((connections): LoadJob => ({ ...job, connections }));
      working = all.slice(0, Math.max(parts.length, open));
      open = working.length;
      await settle(parts.map((part, index) => (all[index] as LoadGenerator).open(part)));
    },
    async step(seconds, thinkMs) {
      return joinSteps(await settle(working.map((generator) => generator.step(seconds, thinkMs))));
    },
    async closeSessions() {
      open = 0;
      await Promise.all(all.map((generator) => generator.closeSessions()));
    },
    interrupt: () => all.forEach((generator) => void generator.interrupt()),
    close,
  };
}

/** Waits for all generators before it throws the first failure. */
async function settle<T>(work: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Splits as evenly as possible; no part is empty. */
function share(total: number, parts: number): number[] {
  const used = Math.min(total, parts);
  return Array.from({ length: used }, (_, index) => Math.floor(total / used) + (index < total % used ? 1 : 0));
}

function sum(seen: readonly BurstProgress[]): BurstProgress {
  const total: BurstProgress = { succeeded: 0, failed: 0 };
  for (const part of seen) {
    total.succeeded += part?.succeeded ?? 0;
    total.failed += part?.failed ?? 0;
  }
  return total;
}

function joinBursts(results: readonly BurstResult[]): BurstResult {
  const began = Math.min(...results.map((result) => result.began));
  const rows: RequestRow[] = [];
  let wallSeconds = 0;
  for (const result of results) {
    const later = result.began - began;
    wallSeconds = Math.max(wallSeconds, result.wallSeconds + later / 1000);
    for (const row of result.rows) {
      rows.push({ ...row, start_ms: row.start_ms + later, total_ms: row.total_ms + later });
    }
  }
  return { began, rows, wallSeconds, client: joinUse(results.map(({ client }) => client)) };
}

function joinSteps(results: readonly StepsResult[]): StepsResult {
  const latencies = new Float64Array(results.reduce((total, result) => total + result.latencies.length, 0));
  let at = 0;
  for (const result of results) {
    latencies.set(result.latencies, at);
    at += result.latencies.length;
  }
  return {
    done: results.reduce((total, { done }) => total + done, 0),
    seconds: Math.max(...results.map(({ seconds }) => seconds)),
    latencies,
    client: joinUse(results.map(({ client }) => client)),
  };
}
