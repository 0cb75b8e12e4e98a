import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "openenv-ts/protocol";
import { toLoadFailure } from "../../failure.js";
import type { ServerLocation } from "../../locate.js";
import { limitsSteps } from "../generator/client-use.js";
import type { LoadGenerator } from "../generator/generator.js";
import { readServerUse } from "../local-server.js";
import { percentile } from "./percentile.js";

/** What a server does once after its first sessions. */
const SETTLE_MS = 300;
const WARM_UP_SECONDS = 0.5;
/** The growth of fewer sessions is lost in the noise of a heap. */
const LEAST_SESSIONS_FOR_MEMORY = 256;

export interface ThroughputJob {
  server: ServerLocation;
  hardware: string;
  cores: number | null;
  connections: number;
  seconds: number;
  action: JsonObject;
}

/** One row of throughput.csv: a closed loop of so many sessions. What could not be measured is null. */
export interface ThroughputRow {
  url: string;
  hardware: string;
  cores: number | null;
  connections: number;
  seconds: number;
  steps: number;
  steps_per_second: number;
  p50_ms: number | null;
  p90_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  server_processes: number;
  server_cpu_seconds: number | null;
  steps_per_cpu_second: number | null;
  /** Growth of the server's resident memory while the sessions were opened. */
  bytes_per_session: number | null;
  client_busy: number;
  client_limited: boolean;
  error_type: string | null;
  error: string | null;
}

/** Steps sessions as fast as they are answered; what goes wrong is in the row. */
export async function measureThroughput(generator: LoadGenerator, job: ThroughputJob): Promise<ThroughputRow> {
  const { server, hardware, cores, connections, seconds, action } = job;
  const { url, address, token, port, local } = server;
  const use = (): ReturnType<typeof readServerUse> | undefined => (local ? readServerUse(port) : undefined);
  const row: ThroughputRow = { url, hardware, cores, connections, seconds, ...NOTHING };
  try {
    const empty = use();
    await generator.open({ url, address, token, connections, action });
    await sleep(SETTLE_MS);
    const opened = use();
    await generator.step(WARM_UP_SECONDS);
    const before = use();
    const { done, seconds: took, latencies, client } = await generator.step(seconds);
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
    if (empty && opened && opened.processes > 0 && connections >= LEAST_SESSIONS_FOR_MEMORY) {
      // A heap that has room left from earlier sessions does not grow, which says nothing.
      const growth = Math.round((opened.bytes - empty.bytes) / connections);
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
