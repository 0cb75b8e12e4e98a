import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "openenv-ts/protocol";
import { toLoadFailure } from "../../failure.js";
import type { ServerLocation } from "../../locate.js";
import { limitsSteps } from "../generator/client-use.js";
import type { LoadGenerator } from "../generator/generator.js";
import { readServerUse } from "../local-server.js";
import { percentile } from "./percentile.js";

/** Time for a server to settle after its first sessions, before memory is measured. */
const SETTLE_MS = 300;
const WARM_UP_SECONDS = 0.5;
/** Sessions that are opened first with a think time, so that the growth does not contain what is loaded once. */
const FIRST_SESSIONS = 8;
/** With fewer sessions, memory is not measured: in a closed loop, the growth is within the noise of the heap. */
const MIN_SESSIONS_OF_LOOP = 256;
export const MIN_SESSIONS = 8;

export interface ThroughputJob {
  server: ServerLocation;
  hardware: string;
  cores: number | null;
  connections: number;
  seconds: number;
  /** Average seconds that each session waits before a step, as a trainer does; undefined for a closed loop. */
  think?: number | undefined;
  action: JsonObject;
}

/**
 * One row of throughput.csv: a closed loop with this number of sessions, or sessions that think. Values that could not be
 * measured are null.
 */
export interface ThroughputRow {
  url: string;
  hardware: string;
  cores: number | null;
  connections: number;
  seconds: number;
  think_seconds: number | null;
  steps: number;
  steps_per_second: number;
  p50_ms: number | null;
  p90_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  server_processes: number;
  server_cpu_seconds: number | null;
  steps_per_cpu_second: number | null;
  /**
   * Growth of the server's resident memory while the sessions were opened; with a think time until the end, and divided
   * by those that were opened after the first ones.
   */
  bytes_per_session: number | null;
  client_busy: number;
  client_limited: boolean;
  error_type: string | null;
  error: string | null;
}

/** Steps sessions in a closed loop, or as trainers do; failures are in the row. */
export async function measureThroughput(generator: LoadGenerator, job: ThroughputJob): Promise<ThroughputRow> {
  const { server, hardware, cores, connections, seconds, think, action } = job;
  const thinkMs = think === undefined ? undefined : think * 1000;
  const first = think === undefined ? 0 : Math.min(FIRST_SESSIONS, Math.ceil(connections / 2));
  const { url, address, token, port, local } = server;
  const use = (): ReturnType<typeof readServerUse> | undefined => (local ? readServerUse(port) : undefined);
  const row: ThroughputRow = { url, hardware, cores, connections, seconds, think_seconds: think ?? null, ...NOTHING };
  const open = (more: number): Promise<void> => generator.open({ url, address, token, connections: more, action });
  try {
    if (first > 0) {
      await open(first);
      await generator.step(WARM_UP_SECONDS, 0);
    }
    const empty = use();
    if (connections > first) await open(connections - first);
    await sleep(SETTLE_MS);
    const opened = use();
    if (first === 0) await generator.step(WARM_UP_SECONDS);
    const before = use();
    const { done, seconds: took, latencies, client } = await generator.step(seconds, thinkMs);
    const after = use();
    const sorted = latencies.sort();
    row.steps = done;
    row.seconds = Math.round(took * 1000) / 1000;
    row.steps_per_second = Math.round(done / took);
    for (const p of [50, 90, 95, 99] as const) row[`p${p}_ms`] = round(percentile(sorted, p / 100));
    row.client_busy = client.busy;
    row.client_limited = limitsSteps(client);
    if (before && after && after.processes > 0) {
      row.server_processes = after.processes;
      row.server_cpu_seconds = Math.round((after.cpuSeconds - before.cpuSeconds) * 100) / 100;
      if (row.server_cpu_seconds > 0) row.steps_per_cpu_second = Math.round(done / row.server_cpu_seconds);
    }
    const full = first > 0 ? after : opened;
    const least = first > 0 ? MIN_SESSIONS : MIN_SESSIONS_OF_LOOP;
    if (empty && full && full.processes > 0 && connections >= least) {
      // A heap with free space from earlier sessions does not grow, so the value says nothing.
      const growth = Math.round((full.bytes - empty.bytes) / (connections - first));
      row.bytes_per_session = growth > 0 ? growth : null;
    }
  } catch (error) {
    const { type, message } = toLoadFailure(error);
    row.error_type = type;
    row.error = message.slice(0, 300);
  } finally {
    await generator.closeSessions();
  }
  return row;
}

function round(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1000) / 1000;
}

const NOTHING = {
  steps: 0,
  steps_per_second: 0,
  p50_ms: null,
  p90_ms: null,
  p95_ms: null,
  p99_ms: null,
  server_processes: 0,
  server_cpu_seconds: null,
  steps_per_cpu_second: null,
  bytes_per_session: null,
  client_busy: 0,
  client_limited: false,
  error_type: null,
  error: null,
};
