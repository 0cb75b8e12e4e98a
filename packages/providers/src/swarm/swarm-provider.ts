import { OpenEnvError, ProviderError } from "openenv-ts/internal";
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
import { createReplicas } from "./replicas.js";
import { renderLife, renderService } from "./service.js";
import { updateService } from "./update.js";

/** A service, which can be given another version of its image while it runs. */
export interface StartedService extends StartedServer {
  /**
   * Exchanges the replicas one after the other for those of another image; a new one answers a reset before it gets
   * sessions. Sessions of an old one end with it. When the new image does not run, the old one is restored.
   * @throws ProviderError START_FAILED when it was restored, START_TIMEOUT after `timeoutMs` (default that of the start).
   */
  update(image: string, options?: { timeoutMs?: number }): Promise<void>;
}

export interface SwarmProvider extends Provider {
  start(spec: StartSpec): Promise<StartedService>;
}

/**
 * Starts an image as a service of a Docker swarm: `replicas` of it (default 2), all ready, behind one URL on 127.0.0.1 of
 * this process. A session stays where it was opened. A replica that ends is replaced. The service is removed by
 * `close()`, and when this process ends, whatever ends that.
 * @throws ConfigError for an option that it does not have or that is wrong.
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
    const replicas = createReplicas({ engine, name, node, ports: () => ports, use: balancer.use });
    start.onCleanup(() => replicas.close());
    await replicas.waitFor(count, start.signal, start.progress);
    exchange = async (next, signal) => {
      const found = await obtainImage(engine, checkImage(next), {
        pull: settings.pull,
        platform: undefined,
        start: { ...start, signal },
      });
      // Those of the old image too: it may be restored.
      ports = [...new Set([...portCandidates({ containerPort }, found, env), ...ports])];
      try {
        await updateService({ engine, name, image: next, ports, life: renderLife(found, env, api), signal });
      } catch (error) {
        // Those that were restored answer before the caller goes on.
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

/** The node of the swarm that the engine is. @throws ProviderError PROVIDER_UNAVAILABLE when it manages none. */
async function findNode(engine: Engine, signal: AbortSignal): Promise<string> {
  const { Swarm: swarm } = await engine.ask<EngineInfo>("GET", "/info", { signal });
  if (swarm?.LocalNodeState === "active" && swarm.ControlAvailable) return swarm.NodeID;
  const what = swarm?.LocalNodeState === "active" ? "is a worker of a swarm, not a manager" : "is in no swarm";
  throw new ProviderError(
    "PROVIDER_UNAVAILABLE",
    `The engine ${engine.address.name} ${what}. \`docker swarm init\` makes it the manager of a new one; or name a manager with DOCKER_HOST.`,
  );
}

/** Wherever the time ended, and whatever the engine said. */
function explainUpdate(error: unknown, update: { image: string; timeoutMs: number }, signal: AbortSignal): unknown {
  const { image, timeoutMs } = update;
  if (error instanceof OpenEnvError) return error;
  if (signal.aborted) {
    const message = `The update to ${image} is not done after ${timeoutMs} ms; raise \`timeoutMs\` if it only needs longer.`;
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
    throw new ProviderError("START_FAILED", `The service cannot be made: ${error.message}.`, { cause: error });
  }
}
