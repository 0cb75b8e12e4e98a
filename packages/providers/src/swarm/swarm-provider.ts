import { OpenEnvError, ProviderError } from "openenv-ts";
import { createBalancer } from "../balancer.js";
import { findEngine } from "../docker/connection.js";
import { containerName, portCandidates } from "../docker/container.js";
import { createEngine, type Engine, EngineError } from "../docker/engine.js";
import { checkImage, obtainImage } from "../docker/image.js";
import { readLogs } from "../docker/logs.js";
import { registryAuth } from "../docker/registry-auth.js";
import { checkReplicas, rejectSource } from "../lifecycle/check-options.js";
import { makeRemovable } from "../lifecycle/make-removable.js";
import { startEnvironment } from "../lifecycle/start.js";
import { registerOrphans } from "../orphans/reaper.js";
import { DEFAULT_START_TIMEOUT_MS, type Provider, type StartedServer, type StartSpec } from "../provider.js";
import { parseOptions, type ServiceSettings, type SwarmProviderOptions } from "./options.js";
import { removeService } from "./orphans.js";
import { Replicas } from "./replicas.js";
import { renderLife, renderService } from "./service.js";
import { updateService } from "./update.js";

/** A running service, which can be updated to another image. */
export interface StartedService extends StartedServer {
  /**
   * Replaces the replicas one by one with those of another image. A new replica gets sessions after it has answered a
   * reset; the sessions of an old replica end with it. When the new image does not run, the old one is restored.
   * @throws ProviderError START_FAILED when the old image was restored, START_TIMEOUT after `timeoutMs` (default: that
   * of the start).
   */
  update(image: string, options?: { timeoutMs?: number }): Promise<void>;
}

export interface SwarmProvider extends Provider {
  start(spec: StartSpec): Promise<StartedService>;
}

/**
 * Starts an image as a Docker Swarm service with `replicas` (default 2) behind one URL on 127.0.0.1 of this process,
 * and resolves when all are ready. A session stays with its replica. A replica that ends is replaced. `close()` removes
 * the service, and so does the end of this process, however it ends.
 * @throws ConfigError for an unknown option or an invalid value.
 * @example
 * await using server = await swarmProvider().start({ image: "echo-env", replicas: 4 });
 * await using env = await connect(server.url, echo);
 */
export function swarmProvider(options: SwarmProviderOptions = {}): SwarmProvider {
  const settings = parseOptions(options);
  const descriptor = { module: import.meta.url, factory: "swarmProvider", options };
  return { name: NAME, descriptor, hasReplicas: true, start: (spec) => startService(spec, settings) };
}

const NAME = "swarm";

async function startService(spec: StartSpec, settings: ServiceSettings): Promise<StartedService> {
  if (!("image" in spec)) {
    rejectSource(NAME, "an image", "build one from the folder (`openenv build`), or use processProvider()");
  }
  const { env } = spec;
  const image = checkImage(spec.image);
  const { containerPort } = settings;
  const { replicas: count = DEFAULT_REPLICAS } = spec;
  checkReplicas(count, 1, MAX_REPLICAS);
  let exchange: ((image: string, signal: AbortSignal) => Promise<void>) | undefined;
  const started = await startEnvironment(NAME, spec, async (start) => {
    const address = findEngine(process.env);
    const engine = createEngine(address);
    const node = await findNode(engine, start.signal);
    const { ApiVersion: api } = await engine.ask<{ ApiVersion: string }>("GET", "/version", { signal: start.signal });
    const config = await obtainImage(engine, image, { pull: settings.pull, platform: undefined, start });
    let ports = portCandidates({ containerPort }, config, env);
    const name = containerName(image);
    const logs = () => readLogs(engine, `/services/${name}/logs`);
    start.progress(`creating a service of ${image}`);
    start.onCleanup(registerOrphans({ ...ORPHANS, options: address }));
    const auth = await registryAuth(image, process.env);
    const life = renderLife(config, env, api);
    const body = renderService({ name, image, env, ports, count, settings, life });
    await makeRemovable(
      start,
      () => create(engine, body, auth),
      () => removeService(engine, name),
    );
    start.running({ logs });
    const balancer = await createBalancer(start, settings.port);
    const replicas = new Replicas({ engine, name, node, ports: () => ports, use: balancer.use });
    start.onCleanup(() => replicas.close());
    await replicas.waitFor(count, start.signal, start.progress);
    exchange = async (next, signal) => {
      const found = await obtainImage(engine, checkImage(next), {
        pull: settings.pull,
        platform: undefined,
        start: { ...start, signal },
      });
      // Includes the ports of the old image, which may be restored.
      ports = [...new Set([...portCandidates({ containerPort }, found, env), ...ports])];
      try {
        await updateService({ engine, name, image: next, ports, life: renderLife(found, env, api), signal });
      } catch (error) {
        // Restored replicas must answer before the call returns.
        await replicas.waitFor(count, signal).catch(() => {});
        throw error;
      }
      await replicas.waitFor(count, signal);
    };
    return { url: balancer.url, logs };
  });
  const update: StartedService["update"] = async (
    next,
    { timeoutMs = spec.timeoutMs ?? DEFAULT_START_TIMEOUT_MS } = {},
  ) => {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      await exchange?.(next, signal);
    } catch (error) {
      throw explainUpdate(error, { image: next, timeoutMs }, signal);
    }
  };
  return Object.assign(started, { update });
}

const ORPHANS = {
  module: new URL("./orphans.js", import.meta.url).href,
  factory: "createSwarmOrphanFinder" satisfies keyof typeof import("./orphans.js"),
};

const DEFAULT_REPLICAS = 2;
const MAX_REPLICAS = 1_000;

/** The engine's node in the swarm. @throws ProviderError PROVIDER_UNAVAILABLE when the engine is not a manager. */
async function findNode(engine: Engine, signal: AbortSignal): Promise<string> {
  const { Swarm: swarm } = await engine.ask<EngineInfo>("GET", "/info", { signal });
  if (swarm?.LocalNodeState === "active" && swarm.ControlAvailable) return swarm.NodeID;
  const what = swarm?.LocalNodeState === "active" ? "is a worker of a swarm, not a manager" : "is not in a swarm";
  throw new ProviderError(
    "PROVIDER_UNAVAILABLE",
    `The engine ${engine.address.name} ${what}. Run \`docker swarm init\`, or set DOCKER_HOST to a manager.`,
  );
}

/** Converts a timeout or an error of the engine. */
function explainUpdate(error: unknown, update: { image: string; timeoutMs: number }, signal: AbortSignal): unknown {
  const { image, timeoutMs } = update;
  if (error instanceof OpenEnvError) return error;
  if (signal.aborted) {
    const message = `The update to ${image} timed out after ${timeoutMs} ms. Increase \`timeoutMs\` if it needs more time.`;
    return new ProviderError("START_TIMEOUT", message, { cause: error });
  }
  if (!(error instanceof EngineError)) return error;
  return new ProviderError("START_FAILED", `The update to ${image} failed: ${error.message}.`, { cause: error });
}

interface EngineInfo {
  Swarm?: { LocalNodeState: string; ControlAvailable: boolean; NodeID: string };
}

async function create(engine: Engine, body: unknown, auth: string | undefined): Promise<void> {
  const headers = auth === undefined ? {} : { "x-registry-auth": auth };
  try {
    await engine.ask("POST", "/services/create", { body, headers });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new ProviderError("START_FAILED", `The service cannot be created: ${error.message}.`, { cause: error });
  }
}
