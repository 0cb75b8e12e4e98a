import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError } from "openenv-ts";
import { type Engine, EngineError } from "../docker/engine.js";
import { registryAuth } from "../docker/registry-auth.js";
import { renderEndpoint } from "./service.js";

interface Update {
  engine: Engine;
  /** Id of the service. */
  name: string;
  image: string;
  /** Ports inside the container that the new or the old server may listen on. */
  ports: readonly number[];
  /** The result of `renderLife` for the new image. */
  life: object;
  signal: AbortSignal;
}

const POLL_MS = 250;

/**
 * Updates a service to another image and resolves when every replica was replaced.
 * @throws ProviderError START_FAILED when the engine restored the old image, START_TIMEOUT when the signal is aborted.
 */
export async function updateService(update: Update): Promise<void> {
  const { engine, name, image, ports, life, signal } = update;
  const { Version: version, Spec: spec } = await inspect(engine, name);
  const template = spec.TaskTemplate;
  const body = {
    ...spec,
    TaskTemplate: {
      ...template,
      ContainerSpec: { ...template.ContainerSpec, Image: image, ...life },
      // Forces an update for the same name, because its tag may point to another image now.
      ForceUpdate: (template.ForceUpdate ?? 0) + 1,
    },
    EndpointSpec: renderEndpoint(ports),
  };
  const auth = await registryAuth(image, process.env);
  try {
    await engine.ask("POST", `/services/${name}/update`, {
      query: { version: String(version.Index) },
      body,
      headers: auth === undefined ? {} : { "x-registry-auth": auth },
    });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new ProviderError("START_FAILED", `The update to ${image} was rejected: ${error.message}.`, { cause: error });
  }
  await waitForEnd({ engine, name, image, signal });
}

async function waitForEnd({ engine, name, image, signal }: Omit<Update, "ports" | "life">): Promise<void> {
  for (;;) {
    const { UpdateStatus: status } = await inspect(engine, name);
    if (status?.State === "completed") return;
    if (status?.State.startsWith("rollback") || status?.State === "paused") {
      if (status.State !== "rollback_started") {
        const message = `${image} does not run (${status.Message}); the replicas were rolled back to the old image.`;
        throw new ProviderError("START_FAILED", message);
      }
    }
    if (signal.aborted) {
      const message = `The update to ${image} is not finished (${status?.Message ?? "not started"}); it continues.`;
      throw new ProviderError("START_TIMEOUT", message);
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

interface Inspected {
  Version: { Index: number };
  Spec: Record<string, unknown> & {
    TaskTemplate: Record<string, unknown> & { ContainerSpec: Record<string, unknown>; ForceUpdate?: number };
  };
  UpdateStatus?: { State: string; Message: string };
}

function inspect(engine: Engine, name: string): Promise<Inspected> {
  return engine.ask<Inspected>("GET", `/services/${name}`);
}
