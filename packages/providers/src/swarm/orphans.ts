import { setTimeout as sleep } from "node:timers/promises";
import type { EngineAddress } from "../docker/connection.js";
import { createEngine, type Engine, EngineError } from "../docker/engine.js";
import { MARK, readLabels } from "../docker/labels.js";
import { LOOK_MS, removeContainer } from "../docker/orphans.js";
import type { Orphan, OrphanFinder } from "../orphans/orphan.js";

/** Finds the services of a swarm that carry our label, whoever started them; none where there is no swarm. */
export function createSwarmOrphanFinder(address: EngineAddress): OrphanFinder {
  const engine = createEngine(address);
  return {
    async list() {
      const query = { filters: JSON.stringify({ label: [MARK] }) };
      const found = await engine.ask<Listed[]>("GET", "/services", { query, timeoutMs: LOOK_MS }).catch(none);
      return found.map((service) => describe(engine, service));
    },
  };
}

/** Removes a service and waits until its containers are gone; nothing happens when it is. */
export async function removeService(engine: Engine, name: string): Promise<void> {
  const graceMs = await readGrace(engine, name);
  await engine.ask("DELETE", `/services/${name}`).catch(gone);
  const deadline = Date.now() + graceMs + END_MS;
  for (;;) {
    const containers = await listContainers(engine, name);
    if (containers.length === 0) return;
    // What does not end by itself, and of this node what was still being made.
    if (Date.now() > deadline) await Promise.all(containers.map(({ Id }) => removeContainer(engine, Id)));
    await sleep(POLL_MS);
  }
}

const POLL_MS = 100;
/** That the engine itself may take to end what has no time left. */
const END_MS = 7_000;

function gone(error: unknown): undefined {
  if (error instanceof EngineError && error.status === 404) return undefined;
  throw error;
}

/** Milliseconds in which its replicas may stop; after that the engine kills them. */
async function readGrace(engine: Engine, name: string): Promise<number> {
  const service = await engine.ask<Inspected>("GET", `/services/${name}`).catch(gone);
  return (service?.Spec.TaskTemplate.ContainerSpec.StopGracePeriod ?? 0) / 1e6;
}

interface Inspected {
  Spec: { TaskTemplate: { ContainerSpec: { StopGracePeriod?: number } } };
}

interface Listed {
  ID: string;
  Spec: { Name: string; Labels: Record<string, string> };
}

function describe(engine: Engine, { ID, Spec: { Name, Labels } }: Listed): Orphan {
  return { id: ID.slice(0, 12), url: undefined, ...readLabels(Labels), remove: () => removeService(engine, Name) };
}

function listContainers(engine: Engine, name: string): Promise<{ Id: string }[]> {
  const query = { all: "1", filters: JSON.stringify({ label: [`com.docker.swarm.service.name=${name}`] }) };
  return engine.ask<{ Id: string }[]>("GET", "/containers/json", { query });
}

const NO_MANAGER = 503;

function none(error: unknown): Listed[] {
  if (error instanceof EngineError && error.status === NO_MANAGER) return [];
  throw error;
}
