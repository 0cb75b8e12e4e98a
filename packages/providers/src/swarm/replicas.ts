import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError } from "openenv-ts/internal";
import type { BalancedServer } from "../balancer.js";
import { type Engine, EngineError } from "../docker/engine.js";
import { waitReady } from "../lifecycle/ready.js";

export interface ReplicasOptions {
  engine: Engine;
  /** Of the service. */
  name: string;
  /** The node that the engine is. */
  node: string;
  /** Ports inside at which the server may listen, at this moment. */
  ports(): readonly number[];
  /** Told which replicas take sessions, whenever that changes. */
  use(backends: readonly BalancedServer[]): void;
}

/** The running replicas of a service that have answered a reset, followed until `close()`. */
export interface Replicas {
  /**
   * Resolves when so many are ready, and no others run.
   * @throws ProviderError START_FAILED when one has ended meanwhile, START_TIMEOUT when the signal ends it.
   */
  waitFor(count: number, signal: AbortSignal, progress?: (stage: string) => void): Promise<void>;
  close(): Promise<void>;
}

const POLL_MS = 250;
const IDLE_POLL_MS = 1_000;

export function createReplicas({ engine, name, node, ports, use }: ReplicasOptions): Replicas {
  const ready = new Map<string, BalancedServer>();
  const trying = new Map<string, Promise<void>>();
  /** Why those that run cannot make their environment. */
  const broken = new Map<string, ProviderError>();
  const stop = new AbortController();
  let hosts: ReadonlyMap<string, string> = new Map();
  let shown = "";

  /** Looks once: forgets what is gone and begins to try what is new. */
  async function look(): Promise<Task[]> {
    const tasks = await listTasks(engine, name, stop.signal);
    const running = tasks.filter(isRunning);
    const unknown = running.filter(({ NodeID }) => !hosts.has(NodeID));
    if (unknown.length > 0) hosts = await findHosts(engine, node, stop.signal);
    const ids = new Set(running.map(({ ID }) => ID));
    for (const known of [ready, broken]) for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    for (const task of running) {
      if (ready.has(task.ID) || trying.has(task.ID)) continue;
      const attempt = tryTask(task).finally(() => trying.delete(task.ID));
      trying.set(task.ID, attempt);
    }
    tell();
    return tasks;
  }

  async function tryTask(task: Task): Promise<void> {
    // Not longer than until it is looked again: it may have ended, or be replaced.
    const limit = AbortSignal.any([stop.signal, AbortSignal.timeout(TRY_MS)]);
    try {
      const host = hosts.get(task.NodeID);
      const own = task.NodeID === node;
      const published = await publishedPorts(engine, task, { own, ports: ports(), signal: limit });
      const url = published.map((port) => `http://${host}:${port}`);
      if (host === undefined || url.length === 0) return;
      const answered = new URL(await waitReady({ url, logs: async () => "" }, limit));
      ready.set(task.ID, { id: task.ID, host, port: Number(answered.port) });
      broken.delete(task.ID);
      tell();
    } catch (error) {
      // Of anything else, as of an engine that is away, the next look is told.
      if (error instanceof ProviderError && error.code === "START_FAILED") broken.set(task.ID, error);
    }
  }

  function tell(): void {
    const now = [...ready.keys()].sort().join();
    if (now !== shown) use([...ready.values()]);
    shown = now;
  }

  async function follow(): Promise<void> {
    while (!stop.signal.aborted) {
      await sleep(IDLE_POLL_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      // The engine may be away for a while; the replicas that are known go on.
      if (!stop.signal.aborted) await look().catch(() => {});
    }
  }
  let following: Promise<void> | undefined;

  return {
    async waitFor(count, signal, progress) {
      const before = new Set((await listTasks(engine, name, signal)).filter(hasEnded).map(({ ID }) => ID));
      if (!following) before.clear();
      let told = "";
      for (;;) {
        const tasks = await look();
        const running = tasks.filter(isRunning);
        if (running.length === count && running.every(({ ID }) => ready.has(ID))) break;
        const ended = tasks.find((task) => hasEnded(task) && !before.has(task.ID));
        if (ended)
          throw new ProviderError("START_FAILED", `${describeEnd(ended)} before all replicas answered a reset.`);
        const failure = running.map(({ ID }) => broken.get(ID)).find(Boolean);
        if (failure) throw failure;
        const stage = describeWait(ready.size, count, tasks);
        if (signal.aborted) throw new ProviderError("START_TIMEOUT", `It ended while ${stage}.`);
        if (stage !== told) progress?.(stage);
        told = stage;
        await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      }
      following ??= follow();
    },
    async close() {
      stop.abort();
      await Promise.allSettled([...trying.values(), following]);
    },
  };
}

const TRY_MS = 60_000;

interface Task {
  ID: string;
  NodeID: string;
  DesiredState: string;
  Status: {
    State: string;
    Err?: string;
    ContainerStatus?: { ContainerID?: string; ExitCode?: number };
    PortStatus?: { Ports?: { TargetPort: number; PublishedPort: number }[] };
  };
}

function isRunning({ DesiredState, Status }: Task): boolean {
  return DesiredState === "running" && Status.State === "running";
}

function hasEnded({ Status }: Task): boolean {
  return ["failed", "rejected", "complete"].includes(Status.State);
}

function describeEnd({ Status: { State, Err, ContainerStatus } }: Task): string {
  if (State === "rejected" || ContainerStatus?.ExitCode === undefined)
    return `A replica was ${State} (${Err ?? "no reason"})`;
  return `A replica exited with code ${ContainerStatus.ExitCode}`;
}

function describeWait(ready: number, count: number, tasks: readonly Task[]): string {
  const waiting = tasks.find(({ DesiredState, Status }) => DesiredState === "running" && Status.State !== "running");
  const why = waiting ? `; one is ${waiting.Status.State}${waiting.Status.Err ? ` (${waiting.Status.Err})` : ""}` : "";
  return `waiting for replicas, of which ${ready} of ${count} are ready${why}`;
}

function listTasks(engine: Engine, service: string, signal: AbortSignal): Promise<Task[]> {
  return engine.ask<Task[]>("GET", "/tasks", { query: { filters: JSON.stringify({ service: [service] }) }, signal });
}

/** Where the ports of each node are reached; those of the engine's own node where the engine is. */
async function findHosts(engine: Engine, own: string, signal: AbortSignal): Promise<Map<string, string>> {
  const nodes = await engine.ask<{ ID: string; Status: { Addr: string } }[]>("GET", "/nodes", { signal });
  const here = engine.address.host ?? "127.0.0.1";
  return new Map(nodes.map(({ ID, Status }) => [ID, ID === own ? here : Status.Addr]));
}

interface Where {
  own: boolean;
  ports: readonly number[];
  signal: AbortSignal;
}

/** The likeliest first. IPv4 and IPv6 have different ones, and only the container says which is which. */
async function publishedPorts(engine: Engine, { Status }: Task, { own, ports, signal }: Where): Promise<number[]> {
  const container = Status.ContainerStatus?.ContainerID;
  if (own && container) {
    const found = await inspect(engine, container, signal);
    return ports.flatMap((port) => {
      const bindings = found?.NetworkSettings.Ports?.[`${port}/tcp`] ?? [];
      return bindings.filter(({ HostIp }) => !HostIp.includes(":")).map(({ HostPort }) => Number(HostPort));
    });
  }
  const published = Status.PortStatus?.Ports ?? [];
  return ports.flatMap((port) => published.find(({ TargetPort }) => TargetPort === port)?.PublishedPort ?? []);
}

interface Inspected {
  NetworkSettings: { Ports?: Record<string, { HostIp: string; HostPort: string }[] | null> | null };
}

async function inspect(engine: Engine, container: string, signal: AbortSignal): Promise<Inspected | undefined> {
  try {
    return await engine.ask<Inspected>("GET", `/containers/${container}/json`, { signal });
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}
