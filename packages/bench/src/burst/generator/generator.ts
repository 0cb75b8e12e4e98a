import type { JsonObject } from "openenv-ts/protocol";
import { LoadFailure } from "../../failure.js";
import { createLoad, type SessionLoad } from "../../load.js";
import type { BurstJob, BurstProgress, BurstResult, ClientUse } from "../types.js";
import { runBurst } from "./burst.js";
import { watchClient } from "./client-use.js";

/** Sessions that step as fast as they are answered. */
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
  /** Milliseconds of each step. */
  latencies: Float64Array;
  client: ClientUse;
}

/** Produces load, in this process or in one of its own; does one thing at a time. */
export interface LoadGenerator {
  /** @throws LoadFailure when the URL is none of a server. */
  burst(job: BurstJob, onProgress: (progress: BurstProgress) => void): Promise<BurstResult>;
  /** Opens and resets sessions. @throws LoadFailure with the first that failed. */
  open(job: LoadJob): Promise<void>;
  /** Steps the open sessions. @throws LoadFailure with the first answer that was wrong or missing. */
  step(seconds: number): Promise<StepsResult>;
  /** Closes the open sessions. */
  closeSessions(): Promise<void>;
  /** Gives up the burst that runs; its requests end as INTERRUPTED. */
  interrupt(): void;
  close(): Promise<void>;
}

/** A generator in this process; `number` tells its source addresses from those of others. */
export function createGenerator(number = 0): LoadGenerator {
  let sources: { address: string; next: () => string | undefined } | undefined;
  let stop = new AbortController();
  let load: SessionLoad | undefined;
  let latencies: number[] = [];
  const closeSessions = async (): Promise<void> => {
    await load?.close();
    load = undefined;
  };
  return {
    burst(job, onProgress) {
      // One ring for all bursts: the ports of the last one are still taken.
      if (sources?.address !== job.address) {
        sources = { address: job.address, next: createSources(job.address, number) };
      }
      return runBurst(job, { source: sources.next, signal: stop.signal, onProgress });
    },
    async open({ url, address, token, connections, action }) {
      const workload = { actions: () => [action], check: ({ observation }: JsonObject) => judge(observation) };
      const onStep = (milliseconds: number): number => latencies.push(milliseconds);
      load = await createLoad({ url, address, token, connections, workload, onStep });
    },
    async step(seconds) {
      if (load === undefined) throw new LoadFailure("CLOSED", "no sessions are open");
      latencies = [];
      const stopWatching = watchClient();
      const { done, seconds: took } = await load.step(seconds);
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

/** Addresses of this machine that one generator connects from in turn. */
const ADDRESSES = 16;

/**
 * Gives the source address of one connection after the other. The ports of one address run out near 28,000, ended
 * connections included, so a load on this machine comes from many; elsewhere the system chooses.
 */
function createSources(address: string, generator: number): () => string | undefined {
  if (process.platform !== "linux" || !address.startsWith("127.")) return () => undefined;
  let next = 0;
  return () => `127.0.${generator}.${(next++ % ADDRESSES) + 1}`;
}
