import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError } from "openenv-ts";
import type { BalancedServer } from "../balancer.js";
import { type Engine, EngineError } from "../docker/engine.js";
import { waitReady } from "../lifecycle/ready.js";

export interface ReplicasOptions {
  engine: Engine;
  /** Id of the service. */
  name: string;
  /** Id of the engine's node. */
  node: string;
  /** Ports inside the container that the server may listen on now. */
  ports(): readonly number[];
  /** Called with the replicas that take sessions whenever they change. */
  use(backends: readonly BalancedServer[]): void;
}

const POLL_MS = 250;
const IDLE_POLL_MS = 1_000;
const TRY_MS = 60_000;

/** The running replicas of a service that have answered a reset, watched until `close()`. */
export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #ready = new Map<string, BalancedServer>();
  readonly #trying = new Map<string, Promise<void>>();
  /** Errors of running replicas that cannot create their environment. */
  readonly #broken = new Map<string, ProviderError>();
  readonly #stop = new AbortController();
  #hosts: ReadonlyMap<string, string> = new Map();
  #shown = "";
  #following: Promise<void> | undefined;

  constructor(options: ReplicasOptions) {
    this.#options = options;
  }

  /**
   * Resolves when this many are ready and no others run.
   * @throws ProviderError START_FAILED when a replica has ended meanwhile, START_TIMEOUT when the signal is aborted.
   */
  async waitFor(count: number, signal: AbortSignal, progress?: (stage: string) => void): Promise<void> {
    const { engine, name } = this.#options;
    const before = new Set((await listTasks(engine, name, signal)).filter(hasEnded).map(({ ID }) => ID));
    if (!this.#following) before.clear();
    let reported = "";
    for (;;) {
      const tasks = await this.#look();
      if (this.#areReady(count, tasks, before)) break;
      const stage = describeWait(this.#ready.size, count, tasks);
      if (signal.aborted) throw new ProviderError("START_TIMEOUT", `Timed out while ${stage}.`);
      if (stage !== reported) progress?.(stage);
      reported = stage;
      await sleep(POLL_MS, undefined, { signal }).catch(() => {});
    }
    this.#following ??= this.#follow();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([...this.#trying.values(), this.#following]);
  }

  /** `before` are those that had ended when the wait began. @throws ProviderError when another has ended or is broken. */
  #areReady(count: number, tasks: readonly Task[], before: ReadonlySet<string>): boolean {
    const running = tasks.filter(isRunning);
    if (running.length === count && running.every(({ ID }) => this.#ready.has(ID))) return true;
    const ended = tasks.find((task) => hasEnded(task) && !before.has(task.ID));
    if (ended) throw new ProviderError("START_FAILED", `${describeEnd(ended)} before all replicas answered a reset.`);
    const failure = running.map(({ ID }) => this.#broken.get(ID)).find(Boolean);
    if (failure) throw failure;
    return false;
  }

  /** Reads the replicas once: forgets those that are gone and starts to check new ones. */
  async #look(): Promise<Task[]> {
    const { engine, name, node } = this.#options;
    const tasks = await listTasks(engine, name, this.#stop.signal);
    const running = tasks.filter(isRunning);
    const unknown = running.filter(({ NodeID }) => !this.#hosts.has(NodeID));
    if (unknown.length > 0) this.#hosts = await findHosts(engine, node, this.#stop.signal);
    const ids = new Set(running.map(({ ID }) => ID));
    for (const known of [this.#ready, this.#broken]) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    }
    for (const task of running) {
      if (this.#ready.has(task.ID) || this.#trying.has(task.ID)) continue;
      const attempt = this.#try(task).finally(() => this.#trying.delete(task.ID));
      this.#trying.set(task.ID, attempt);
    }
    this.#notify();
    return tasks;
  }

  async #try(task: Task): Promise<void> {
    const { engine, node, ports } = this.#options;
    // No longer than until the next poll: the replica may have ended or been replaced.
    const limit = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TRY_MS)]);
    try {
      const host = this.#hosts.get(task.NodeID);
      const own = task.NodeID === node;
      const published = await publishedPorts(engine, task, { own, ports: ports(), signal: limit });
      const url = published.map((port) => `http://${host}:${port}`);
      if (host === undefined || url.length === 0) return;
      const answered = new URL(await waitReady({ url, logs: async () => "" }, limit));
      this.#ready.set(task.ID, { id: task.ID, host, port: Number(answered.port) });
      this.#broken.delete(task.ID);
      this.#notify();
    } catch (error) {
      // Other errors, such as an unreachable engine, are left to the next poll.
      if (error instanceof ProviderError && error.code === "START_FAILED") this.#broken.set(task.ID, error);
    }
  }

  #notify(): void {
    const now = [...this.#ready.keys()].sort().join();
    if (now !== this.#shown) this.#options.use([...this.#ready.values()]);
    this.#shown = now;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(IDLE_POLL_MS, undefined, { signal, ref: false }).catch(() => {});
      // The engine may be unreachable for a while; known replicas stay in use.
      if (!signal.aborted) await this.#look().catch(() => {});
    }
  }
}

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

/** The host of each node's published ports; for the engine's own node, the engine's host. */
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

/** Likeliest first. IPv4 and IPv6 have different published ports, and only the container says which is which. */
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
