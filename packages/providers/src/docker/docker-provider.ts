import { stopSeconds } from "@openenv-ts/deploy";
import { ConfigError, ProviderError } from "openenv-ts";
import { httpUrl, isTaken } from "../address.js";
import { rejectReplicas, rejectSource } from "../lifecycle/check-options.js";
import { makeRemovable } from "../lifecycle/make-removable.js";
import { startEnvironment } from "../lifecycle/start.js";
import type { AcquiredServer, StartContext } from "../lifecycle/start-context.js";
import { registerOrphans } from "../orphans/reaper.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { type EngineAddress, findEngine } from "./connection.js";
import { containerName, portCandidates, renderContainer } from "./container.js";
import { createEngine, type Engine, EngineError } from "./engine.js";
import { checkImage, obtainImage } from "./image.js";
import { readContainerLogs } from "./logs.js";
import { type ContainerSettings, type DockerProviderOptions, parseOptions } from "./options.js";
import { removeContainer } from "./orphans.js";

/**
 * Starts an image as a container of the engine that the docker command would use, and publishes its port on 127.0.0.1.
 * The port inside the container is the one that answers a reset. The container has only the variables of its image and
 * of `env`. `close()` stops and removes it, and so does the end of this process, however it ends.
 * @throws ConfigError for an unknown option or an invalid value.
 * @example
 * await using server = await dockerProvider({ memory: "512m", cpus: 1 }).start({ image: "echo-env" });
 * await using env = await connect(server.url, echo);
 */
export function dockerProvider(options: DockerProviderOptions = {}): Provider {
  const settings = parseOptions(options);
  const descriptor = { module: import.meta.url, factory: "dockerProvider", options };
  return { name: NAME, descriptor, start: (spec) => startContainer(spec, settings) };
}

const NAME = "docker";
/** Extra time for the engine itself to stop a container. */
const ANSWER_MS = 60_000;

async function startContainer(spec: StartSpec, settings: ContainerSettings): Promise<StartedServer> {
  rejectReplicas(NAME, spec);
  if (!("image" in spec)) {
    rejectSource(
      NAME,
      "an image",
      "build one from the folder (`openenv build`), or use processProvider() or uvProvider()",
    );
  }
  const { env } = spec;
  const image = checkImage(spec.image);
  return startEnvironment(NAME, spec, async (start) => {
    const address = findEngine(process.env);
    checkReach(address, settings);
    const engine = createEngine(address);
    const config = await obtainImage(engine, image, { pull: settings.pull, platform: settings.platform, start });
    const ports = await choosePorts(settings, portCandidates(settings, config, env));
    const name = containerName(image);
    start.progress(`creating a container of ${image}`);
    start.onCleanup(registerOrphans({ ...ORPHANS, options: address }));
    const container = { body: renderContainer({ image, env, ports, settings }), platform: settings.platform };
    await makeRemovable(
      start,
      () => create(engine, name, container),
      () => removeContainer(engine, name),
    );
    start.running({ logs: () => readContainerLogs(engine, name) });
    start.progress(`starting the container ${name}`);
    await engine.ask("POST", `/containers/${name}/start`, { signal: start.signal }).catch(rejected);
    const limit = stopSeconds({ ...config.env, ...env });
    // After a failed start, there are no sessions to wait for.
    start.onCleanup(() => (start.failed ? undefined : stop(engine, name, limit)));
    return {
      url: await findUrls({ engine, name, ports, settings, start }),
      logs: () => readContainerLogs(engine, name),
      ended: (signal) => waitForEnd(engine, name, signal),
    } satisfies AcquiredServer;
  });
}

const ORPHANS = {
  module: new URL("./orphans.js", import.meta.url).href,
  factory: "createDockerOrphanFinder" satisfies keyof typeof import("./orphans.js"),
};

/**
 * Another server on the host's network must not be mistaken for the container, and one host port cannot map to several.
 */
async function choosePorts({ network, port }: ContainerSettings, candidates: readonly number[]): Promise<number[]> {
  if (network !== "host") {
    if (port === 0 || candidates.length === 1) return [...candidates];
    throw new ConfigError(
      `The image may listen on ${candidates.join(", ")}. With \`port\`, also set \`containerPort\` to the port inside.`,
    );
  }
  const taken = await Promise.all(candidates.map(isTaken));
  const free = candidates.filter((_, index) => !taken[index]);
  if (free.length > 0) return free;
  throw new ProviderError(
    "START_FAILED",
    `Port ${candidates.join(", ")} is in use on the host's network. Set PORT in \`env\` to a free port.`,
  );
}

/** An engine on another machine publishes ports there; its loopback address is not reachable from here. */
function checkReach({ name, host }: EngineAddress, { publishOn }: ContainerSettings): void {
  const isLocal = host === undefined || ["localhost", "127.0.0.1", "::1"].includes(host);
  if (isLocal || !publishOn.startsWith("127.")) return;
  throw new ConfigError(
    `The engine ${name} is on another machine, whose 127.0.0.1 cannot be reached from here. Set \`publishOn\` to an ` +
      "address of that machine. Anyone who can reach that address can reach the environment.",
  );
}

async function create(
  engine: Engine,
  name: string,
  { body, platform }: { body: unknown; platform: string | undefined },
): Promise<void> {
  await engine.ask("POST", "/containers/create", { query: { name, platform }, body }).catch(rejected);
}

/** The error of the engine, with its own message. */
function rejected(error: unknown): never {
  if (!(error instanceof EngineError)) throw error;
  const taken = /port is already allocated|address already in use/.test(error.message);
  const advice = taken ? " Omit `port` to use a free one." : "";
  const text = `The container cannot be started: ${error.message.replace(/\.$/, "")}.${advice}`;
  throw new ProviderError("START_FAILED", text, { cause: error });
}

/** The server closes its sessions; the engine kills it after this many seconds. */
async function stop(engine: Engine, name: string, seconds: number): Promise<void> {
  const call = { query: { t: String(seconds) }, timeoutMs: seconds * 1_000 + ANSWER_MS };
  await engine.ask("POST", `/containers/${name}/stop`, call).catch((error: unknown) => {
    if (!(error instanceof EngineError)) throw error;
  });
}

interface Inspected {
  State: { Running: boolean; OOMKilled: boolean; ExitCode: number; Error: string };
  NetworkSettings: { Ports?: Record<string, { HostIp: string; HostPort: string }[] | null> | null };
}

interface Published {
  engine: Engine;
  name: string;
  ports: readonly number[];
  settings: ContainerSettings;
  start: StartContext;
}

async function findUrls({ engine, name, ports, settings, start }: Published): Promise<string[]> {
  const { publishOn, network } = settings;
  const remote = engine.address.host;
  if (network === "host") return ports.map((port) => `http://${remote ?? "127.0.0.1"}:${port}`);
  const { NetworkSettings: found } = await engine.ask<Inspected>("GET", `/containers/${name}/json`, {
    signal: start.signal,
  });
  const host = ["0.0.0.0", "::", ""].includes(publishOn) ? (remote ?? "127.0.0.1") : publishOn;
  const published = ports.flatMap((port) => found.Ports?.[`${port}/tcp`]?.[0]?.HostPort ?? []);
  if (published.length === 0) throw await noPort(engine, name, start);
  return published.map((port) => httpUrl(host, port));
}

/** A container that has exited publishes no ports; some networks never do. */
async function noPort(engine: Engine, name: string, { signal }: StartContext): Promise<ProviderError> {
  const { State: state } = await engine.ask<Inspected>("GET", `/containers/${name}/json`, { signal });
  const text = state.Running ? "Its network publishes no port on this machine" : describeEnd(state);
  return new ProviderError("START_FAILED", `${text}.`);
}

function describeEnd({ OOMKilled, ExitCode: code, Error: reason }: Inspected["State"]): string {
  if (OOMKilled) return "The container was killed because it exceeded its memory limit";
  return `The container exited with code ${code}${reason && ` (${reason})`}`;
}

async function waitForEnd(engine: Engine, name: string, signal: AbortSignal): Promise<string> {
  try {
    await engine.ask("POST", `/containers/${name}/wait`, { signal });
    const { State: state } = await engine.ask<Inspected>("GET", `/containers/${name}/json`, { signal });
    return describeEnd(state);
  } catch (error) {
    if (signal.aborted) return new Promise(() => {});
    throw error;
  }
}
