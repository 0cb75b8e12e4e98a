import { getHeapStatistics } from "node:v8";
import type { Sessions } from "../../session/registry/sessions.js";
import type { Runtime } from "../../session/runtime.js";
import type { Config } from "../config/config.js";

/** With fewer further sessions, the growth is within the noise of the heap. */
const MIN_SESSIONS = 8;
/** What the first sessions add once, such as compiled code. It does not count, so the size of a session is a lower bound. */
const ONCE_BYTES = 16 * 1024 * 1024;
/** The part of a heap that sessions can fill. The collector runs ever more often beyond it. */
const USABLE = 0.8;
const MB = 1024 * 1024;

/** The heap in use and its limit, bytes; undefined on Bun and Deno, where HEAP_MB has no effect. */
export function readHeap(): { used: number; limit: number } | undefined {
  if ("Bun" in globalThis || "Deno" in globalThis) return undefined;
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return { used, limit };
}

/**
 * Measures how much heap the sessions of this process take, and warns once when the heap cannot hold as many as the
 * server accepts. No call is measured: the heap is read after V8 has collected all of it, and then contains no garbage.
 * Returns what ends the measurement.
 */
export function watchHeap(
  { log, statistics }: Pick<Runtime, "log" | "statistics">,
  sessions: Pick<Sessions, "load">,
  { maxConcurrentEnvs, isolation }: Pick<Config, "maxConcurrentEnvs" | "isolation">,
): () => void {
  const start = readHeap();
  // Isolated sessions have separate heaps.
  if (isolation !== undefined || start === undefined) return () => {};
  /** The last measurement with few sessions: it contains what sessions share, such as data that the first one loads. */
  let few = { sessions: 0, bytes: start.used };
  let before = { active: 0, opened: statistics.counts.openenv_sessions_opened_total };
  let isDone = false;
  const look = (): void => {
    const now = { active: sessions.load().active, opened: statistics.counts.openenv_sessions_opened_total };
    // A session that has ended may still have been in the heap when V8 began to collect it.
    const most = before.active + now.opened - before.opened;
    before = now;
    const { used_heap_size: bytes, heap_size_limit: limit } = getHeapStatistics();
    if (most < MIN_SESSIONS) few = { sessions: most, bytes };
    if (most < few.sessions + MIN_SESSIONS) return;
    const growth = (bytes - few.bytes - ONCE_BYTES) / (most - few.sessions);
    const needed = bytes + growth * (maxConcurrentEnvs - most);
    if (growth <= 0 || needed <= limit) return;
    isDone = true;
    const fits = Math.max(1, Math.floor((limit * USABLE - few.bytes) / growth));
    const heapMb = Math.ceil(needed / USABLE / MB / 100) * 100;
    const sessionMb = round(growth / MB);
    log.warn(
      { sessions: most, sessionMb, capacity: maxConcurrentEnvs, heapLimitMb: Math.round(limit / MB) },
      `the heap of this process has no room for ${maxConcurrentEnvs} sessions of ${sessionMb} MB or more: ` +
        `set MAX_CONCURRENT_ENVS to at most ${fits}, or HEAP_MB to at least ${heapMb}`,
    );
  };
  // Called after each collection of the whole heap: those of young objects keep the object.
  const collections = new FinalizationRegistry<void>(() => {
    if (!isDone) look();
    if (!isDone) awaitNext();
  });
  const awaitNext = (): void => collections.register({}, undefined, collections);
  awaitNext();
  return () => {
    isDone = true;
    collections.unregister(collections);
  };
}

function round(value: number): number {
  return Number(value.toPrecision(2));
}
