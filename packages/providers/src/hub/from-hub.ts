import type { ClientContract, GenericContract } from "openenv-ts/client";
import { ConfigError, ConnectionError, ProviderError, settled } from "openenv-ts/internal";
import { connectStarted, type ManagedClient } from "../connect-started.js";
import { dockerProvider } from "../docker/docker-provider.js";
import type { ManagedClientOptions } from "../docker/from-docker-image.js";
import { checkSpec, rejectReplicas, rejectUnknown } from "../lifecycle/check-options.js";
import { createDeadline, type Deadline } from "../lifecycle/deadline.js";
import { startPrewarmed } from "../lifecycle/prewarm.js";
import { processProvider } from "../process/process-provider.js";
import { uvProvider } from "../process/uv-provider.js";
import { DEFAULT_START_TIMEOUT_MS, type Provider, type StartedServer, type StartSource } from "../provider.js";
import { checkOut } from "../repository/checkout.js";
import { findSpace, mustHaveImage, mustRun, type Space } from "./find-space.js";
import { readHubToken } from "./hub-account.js";
import { parseSpaceId, spaceOfPage, spaceSubdomain } from "./space-id.js";

/** Options of `fromHub`; those of a start are refused for a Space that is used where it runs. */
export interface FromHubOptions<C extends ClientContract = GenericContract> extends ManagedClientOptions<C> {
  /** False clones the repository and runs it with Node or uv, without a container. Default true. */
  useDocker?: boolean | undefined;
  /** Version of the image; default `latest`. */
  tag?: string | undefined;
  /** Registry of the images; default `registry.hf.space`. */
  registry?: string | undefined;
  /** Token of the Hub; default `HF_TOKEN`, or that of the login. */
  token?: string | undefined;
}

const OF_START = [
  "provider",
  "prewarm",
  "env",
  "replicas",
  "onProgress",
  "useDocker",
  "tag",
  "registry",
] as const satisfies readonly (keyof FromHubOptions)[];
/** The names of all options. */
const FROM_HUB_OPTIONS = [
  ...OF_START,
  "contract",
  "connect",
  "signal",
  "timeoutMs",
  "token",
] as const satisfies readonly (keyof FromHubOptions)[];

/**
 * Opens one session of an environment on the Hub. With `owner/name` a copy of your own is started: its image in a
 * container, or with `useDocker: false` its repository with Node or uv; `close()` ends it. With the URL of a Space, its
 * page or its host, the running Space is used and `close()` only disconnects.
 * @throws ConfigError for a wrong option, ProviderError when the Space is missing, private or does not run, or the start
 * fails, and whatever `connect` throws; then nothing is left.
 * @example
 * await using env = await fromHub("openenv/echo_env", { contract: echo });
 */
export async function fromHub<C extends ClientContract = GenericContract>(
  repo: string,
  options: FromHubOptions<C> = {},
): Promise<ManagedClient<C>> {
  rejectUnknown("fromHub()", options, FROM_HUB_OPTIONS);
  const { contract, connect = {}, ...hub } = options;
  const { token, ...started } = await startFromHub(repo, hub);
  try {
    // Only a private Space is told who asks.
    return await connectStarted(started, contract, { ...(token && { token }), ...connect, signal: hub.signal });
  } catch (error) {
    throw explainConnect(error, repo);
  }
}

/** The name that the Python package has for it. @alias */
export const fromEnv = fromHub;

/** One for all calls, so that they share their spares. */
const DEFAULTS = { docker: dockerProvider(), node: processProvider(), python: uvProvider() };
const DEFAULT_REGISTRY = "registry.hf.space";

/** Those of {@link FromHubOptions} that are not about the connection. */
type HubStartOptions = Omit<FromHubOptions, "contract" | "connect">;

interface StartedFromHub extends StartedServer {
  /** What a private Space that runs wants to be told. */
  token?: string | undefined;
}

/** Starts what a `owner/name` or URL names, or finds where it runs. @throws as `fromHub`. */
async function startFromHub(repo: string, options: HubStartOptions): Promise<StartedFromHub> {
  if (/\.git(#.*)?$/.test(repo) && spaceOfPage(repo) === undefined) {
    throw new ConfigError(
      `${repo} is no Space: start the repository with processProvider() or uvProvider() and { git }.`,
    );
  }
  return /^https?:\/\//.test(repo) ? useRunning(repo, options) : startOwn(parseSpaceId(repo), options);
}

async function startOwn(id: string, options: HubStartOptions): Promise<StartedServer> {
  const { provider, prewarm = 0, useDocker = true, replicas, env, onProgress, signal } = options;
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS } = options;
  checkWay(id, options);
  const deadline = Date.now() + timeoutMs;
  const { space, source, usual } = await inTime(id, options, (limit) => find(id, options, limit));
  const rest = { env, replicas, onProgress, signal, timeoutMs: Math.max(1, deadline - Date.now()) };
  try {
    return await startPrewarmed(provider ?? usual, { ...source, ...rest }, prewarm);
  } catch (error) {
    throw useDocker ? withLogin(error, space, options) : error;
  }
}

/** @throws ConfigError when the options do not go together, before anything is asked. */
function checkWay(id: string, { useDocker = true, provider, ...options }: HubStartOptions): void {
  const { name, hasReplicas } = provider ?? (useDocker ? DEFAULTS.docker : DEFAULTS.node);
  const { env, timeoutMs, replicas } = options;
  checkSpec(name, { image: id, env, timeoutMs, replicas });
  if (!hasReplicas) rejectReplicas(name, options);
  if (useDocker) {
    imageOf(id, options);
    if (!RUNS_FOLDERS.includes(name)) return;
    throw new ConfigError(`The ${name} provider starts no image; add useDocker: false to run the repository with it.`);
  }
  if (RUNS_IMAGES.includes(name)) {
    throw new ConfigError(`The ${name} provider starts images; leave it out, or leave out useDocker: false.`);
  }
  const ofImage = (["tag", "registry"] as const).filter((option) => options[option] !== undefined);
  if (ofImage.length > 0) throw new ConfigError(`${ofImage.join(", ")}: the image is not used; leave it out.`);
}

const RUNS_FOLDERS = ["process", "uv", "slurm"];
const RUNS_IMAGES = ["docker", "swarm", "kubernetes"];

interface Found {
  space: Space;
  source: StartSource;
  /** Starts it unless told otherwise. */
  usual: Provider;
}

/** @throws ProviderError when the time is up, once what was begun is undone. */
async function inTime<T>(id: string, options: HubStartOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS, signal } = options;
  const limit = createDeadline(timeoutMs, signal);
  const doing = work(limit.signal);
  try {
    return await limit.race(doing);
  } catch (error) {
    // It removes what it has brought so far.
    await settled(doing, GIVE_UP_MS);
    throw explainEnd(error, id, limit);
  } finally {
    limit.end();
  }
}

const GIVE_UP_MS = 5_000;

async function find(id: string, options: HubStartOptions, signal: AbortSignal): Promise<Found> {
  const { token = readHubToken(), onProgress, useDocker = true } = options;
  onProgress?.(`asking the Hub about ${id}`);
  const space = await findSpace(id, { token, signal });
  if (useDocker) {
    mustHaveImage(space);
    return { space, source: { image: imageOf(id, options) }, usual: DEFAULTS.docker };
  }
  const { dir, runtime } = await checkOut({ space, token }, { signal, progress: onProgress });
  return { space, source: { directory: dir }, usual: DEFAULTS[runtime] };
}

function imageOf(id: string, { tag = "latest", registry = DEFAULT_REGISTRY }: HubStartOptions): string {
  if (!/^\w[\w.-]{0,127}$/.test(tag))
    throw new ConfigError(`tag is ${JSON.stringify(tag)}; it is no version of an image.`);
  if (!/^[A-Za-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(registry)) {
    throw new ConfigError(`registry is ${JSON.stringify(registry)}; give host or host:port.`);
  }
  return `${registry}/${spaceSubdomain(id)}:${tag}`;
}

function explainEnd(error: unknown, id: string, { reason, timeoutMs }: Deadline): unknown {
  if (reason === "abort") return new ProviderError("ABORTED", `The start of ${id} was aborted.`, { cause: error });
  if (reason !== "time") return error;
  const message = `${id} was not fetched within ${timeoutMs} ms. Raise \`timeoutMs\` if it only needs longer.`;
  return new ProviderError("START_TIMEOUT", message, { cause: error });
}

function withLogin(
  error: unknown,
  { id, private: isPrivate }: Space,
  { registry = DEFAULT_REGISTRY }: HubStartOptions,
) {
  if (!(error instanceof ProviderError) || error.code !== "SOURCE_NOT_FOUND") return error;
  const reason = isPrivate ? `The Space ${id} is private: \`docker login ${registry}\` with your name and token. ` : "";
  const instead = "Or run its repository without a container: useDocker: false.";
  return new ProviderError(error.code, `${error.message} ${reason}${instead}`, { cause: error });
}

async function useRunning(url: string, options: HubStartOptions): Promise<StartedFromHub> {
  const { token = readHubToken() } = options;
  const ofStart = OF_START.filter((name) => options[name] !== undefined);
  if (ofStart.length > 0) {
    const example = spaceOfPage(url) ?? "owner/name";
    throw new ConfigError(
      `${url} is used where it runs, nothing is started: leave out ${ofStart.join(", ")}, or start your own: fromHub("${example}").`,
    );
  }
  const id = spaceOfPage(url);
  const ask = (signal: AbortSignal) => findSpace(id as string, { token, signal });
  const space = id === undefined ? undefined : await inTime(id, options, ask);
  if (space) mustRun(space);
  return {
    url: space?.url ?? url,
    token: space?.private ? token : undefined,
    logs: async () => "",
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

/** For the host of a Space, of which nothing else is known. */
function explainConnect(error: unknown, repo: string): unknown {
  const isHost = /^https?:/.test(repo) && spaceOfPage(repo) === undefined;
  if (!isHost || !(error instanceof ConnectionError) || error.code !== "CONNECTION_FAILED") return error;
  const advice = "A Space that is asleep, paused or private does not answer; the URL of its page says which it is.";
  return new ConnectionError(error.code, `${error.message} ${advice}`, { cause: error });
}
