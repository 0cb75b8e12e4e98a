import { getHeapStatistics } from "node:v8";
import { MIN_SESSIONS, type ThroughputRow } from "../burst/results/throughput.js";
import { whole } from "./tables.js";

/** The part of a core that sessions may use: beyond it, waiting times grow. */
const CORE_SHARE = 0.7;
/** The part of a heap that sessions can fill: beyond it, the collector runs ever more often. */
const HEAP_SHARE = 0.8;
/** The resident memory of a server changes by so much without a new session. */
const NOISE_BYTES = 8_000_000;
const MB = 1024 * 1024;

/**
 * What a measurement with a think time says about the size of a worker: the sessions that a core carries, those that the
 * heap of Node holds, and the setting for each.
 */
export function renderSizing(row: ThroughputRow, heapBytes = getHeapStatistics().heap_size_limit): string {
  const { connections, seconds, server_processes, server_cpu_seconds: cpu, bytes_per_session, error_type } = row;
  if (error_type !== null) return "The measurement failed: it says nothing about the size of a worker.";
  const isMeasured = server_processes > 0 && connections >= MIN_SESSIONS;
  const bytes = isMeasured ? Math.max(bytes_per_session ?? 0, NOISE_BYTES / connections) : null;
  const core = cpu === null || cpu === 0 ? undefined : cpu / seconds / connections;
  const cost = [
    bytes === null ? undefined : `at most ${megabytes(bytes)} of memory`,
    core === undefined ? undefined : `${(core * 100).toPrecision(2)} % of a core`,
  ].filter((part) => part !== undefined);
  if (cost.length === 0) return "Memory and processor time can only be measured for a server on this machine.";
  const lines = [`A session takes ${cost.join(" and ")}.`];
  const byCore = core === undefined ? undefined : roundDown(CORE_SHARE / core);
  const byHeap = bytes === null ? undefined : roundDown((heapBytes * HEAP_SHARE) / bytes);
  const heap = `the default heap of Node here, ${whole(Math.round(heapBytes / MB))} MB`;
  if (byCore !== undefined) lines.push(`A core carries about ${whole(byCore)} of them at ${CORE_SHARE * 100} %.`);
  if (byHeap !== undefined) lines.push(`A worker with ${heap}, holds about ${whole(byHeap)}.`);
  const best = Math.min(byCore ?? Number.POSITIVE_INFINITY, byHeap ?? Number.POSITIVE_INFINITY);
  lines.push(`For one worker: MAX_CONCURRENT_ENVS=${best}`);
  if (bytes !== null && byCore !== undefined && byCore > best) {
    lines.push(
      `With a larger heap: MAX_CONCURRENT_ENVS=${byCore} HEAP_MB=${roundUp((byCore * bytes) / HEAP_SHARE / MB)}`,
    );
  }
  return lines.join("\n");
}

function megabytes(bytes: number): string {
  return `${Number((bytes / 1_000_000).toPrecision(2))} MB`;
}

/** Two digits: the measurement is not more exact. */
function roundDown(value: number): number {
  const unit = unitOf(value);
  return Math.max(1, Math.floor(value / unit) * unit);
}

function roundUp(value: number): number {
  const unit = unitOf(value);
  return Math.ceil(value / unit) * unit;
}

function unitOf(value: number): number {
  return 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
}
