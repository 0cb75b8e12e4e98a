import type { JsonObject } from "openenv-ts/protocol";
import { LoadFailure } from "../../failure.js";
import { createLoad, type SessionLoad } from "../../load.js";
import type { BurstJob, BurstProgress, BurstResult, ClientUse } from "../types.js";
import { runBurst } from "./burst.js";
import { watchClient } from "./client-use.js";

/** Sessions in a closed loop: each sends the next step when the last one is answered. */
export interface LoadJob {
  url: string;
  address: string;
  token?: string | undefined;
  connections: number;
  action: JsonObject;
}

export interface StepsResult {
  done: number;
  seconds: number;
  /** Duration of each step in milliseconds. */
  latencies: Float64Array;
  client: ClientUse;
}

/** Generates load, in this process or a separate one; runs one command at a time. */
export interface LoadGenerator {
  /** @throws LoadFailure for an invalid URL. */
  burst(job: BurstJob, onProgress: (progress: BurstProgress) => void): Promise<BurstResult>;
  /** Opens and resets sessions, in addition to those that are open. @throws LoadFailure of the first failed session. */
  open(job: LoadJob): Promise<void>;
  /** Steps the open sessions; with `thinkMs` as trainers do. @throws LoadFailure of the first wrong or missing response. */
  step(seconds: number, thinkMs?: number): Promise<StepsResult>;
  /** Closes the open sessions. */
  closeSessions(): Promise<void>;
  /** Cancels the running burst; its requests end as INTERRUPTED. */
  interrupt(): void;
  close(): Promise<void>;
}

/** A generator in this process; `number` separates its source addresses from those of others. */
export function createGenerator(number = 0): LoadGenerator {
  let sources: { address: string; next: () => string | undefined } | undefined;
  let stop = new AbortController();
  let loads: SessionLoad[] = [];
  let latencies: number[] = [];
  const closeSessions = async (): Promise<void> => {
    const open = loads;
    loads = [];
    await Promise.all(open.map((load) => load.close()));
  };
  /** Shared by all loads, because the ports of the last one are still in use. */
  const sourcesFor = (address: string): (() => string | undefined) => {
    if (sources?.address !== address) sources = { address, next: createSources(address, number) };
    return sources.next;
  };
  return {
    burst(job, onProgress) {
      return runBurst(job, { source: sourcesFor(job.address), signal: stop.signal, onProgress });
    },
    async open({ url, address, token, connections, action }) {
      const workload = { actions: () => [action], check: ({ observation }: JsonObject) => judge(observation) };
      const onStep = (milliseconds: number): number => latencies.push(milliseconds);
      const source = sourcesFor(address);
      loads.push(await createLoad({ url, address, token, connections, source, workload, onStep }));
    },
    async step(seconds, thinkMs) {
      if (loads.length === 0) throw new LoadFailure("CLOSED", "no sessions are open");
      latencies = [];
      const stopWatching = watchClient();
      const results = await Promise.all(loads.map((load) => load.step(seconds, thinkMs)));
      const done = results.reduce((sum, result) => sum + result.done, 0);
      const took = Math.max(...results.map((result) => result.seconds));
      return { done, seconds: took, latencies: Float64Array.from(latencies), client: stopWatching() };
    },
    closeSessions,
    interrupt() {
      stop.abort();
      stop = new AbortController();
    },
    close: closeSessions,
  };
}

function judge(observation: unknown): string | undefined {
  return typeof observation === "object" && observation !== null ? undefined : "no observation";
}

/** Local addresses that one generator connects from in turn. */
const ADDRESSES = 16;

/**
 * Returns the source address of each connection in turn. One address has about 28,000 ports, including those of closed
 * connections, so a load on this machine uses many addresses. For other machines the system chooses.
 */
function createSources(address: string, generator: number): () => string | undefined {
  if (process.platform !== "linux" || !address.startsWith("127.")) return () => undefined;
  let next = 0;
  return () => `127.0.${generator}.${(next++ % ADDRESSES) + 1}`;
}
