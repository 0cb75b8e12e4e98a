import { ConfigError, ConnectionError, ProviderError } from "openenv-ts";
import type { ClientContract, GenericContract } from "openenv-ts/client";
import { connectStarted, type ManagedClient } from "../connect-started.js";
import { dockerProvider } from "../docker/docker-provider.js";
import type { ManagedClientOptions } from "../docker/from-docker-image.js";
import { checkSpec, rejectReplicas, rejectUnknown } from "../lifecycle/check-options.js";
import { createDeadline, type Deadline, settled } from "../lifecycle/deadline.js";
import { startPrewarmed } from "../lifecycle/prewarm.js";
import { processProvider } from "../process/process-provider.js";
import { uvProvider } from "../process/uv-provider.js";
import { DEFAULT_START_TIMEOUT_MS, type Provider, type StartedServer, type StartSource } from "../provider.js";
import { checkOut } from "../repository/checkout.js";
import { findSpace, mustHaveImage, mustRun, type Space } from "./find-space.js";
import { readHubToken } from "./hub-account.js";
import { parseSpaceId, spaceOfPage, spaceSubdomain } from "./space-id.js";

/** Options of `fromHub`. Options of a start are rejected for a running Space. */
export interface FromHubOptions<C extends ClientContract = GenericContract> extends ManagedClientOptions<C> {
  /** `false` clones the repository and runs it with Node or uv, without a container. Default true. */
  useDocker?: boolean | undefined;
  /** Tag of the image; default `latest`. */
  tag?: string | undefined;
  /** Registry of the images; default `registry.hf.space`. */
  registry?: string | undefined;
  /** Token of the Hub; default `HF_TOKEN`, or the token of the login. */
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
 * Opens one session of an environment on the Hub. `owner/name` starts a copy: its image in a container, or with
 * `useDocker: false` its repository with Node or uv; `close()` ends it. The URL of a Space (its page or its host) uses
 * the running Space, and `close()` only disconnects.
 * @throws ConfigError for an invalid option, ProviderError when the Space is missing, private or not running, or the
 * start fails, and the errors of `connect`; nothing is left running then.
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
    // The token is sent only to a private Space.
    return await connectStarted(started, contract, { ...(token && { token }), ...connect, signal: hub.signal });
  } catch (error) {
    throw explainConnect(error, repo);
  }
}

/** The Python package's name of `fromHub`. @alias */
export const fromEnv = fromHub;

/** One provider for all calls, so that they share their spares. */
const DEFAULTS = { docker: dockerProvider(), node: processProvider(), python: uvProvider() };
const DEFAULT_REGISTRY = "registry.hf.space";

/** The options of {@link FromHubOptions} that do not concern the connection. */
type HubStartOptions = Omit<FromHubOptions, "contract" | "connect">;

interface StartedFromHub extends StartedServer {
  /** Headers that authenticate with a running private Space. */
  token?: string | undefined;
}

/** Starts the environment that `owner/name` names, or finds the URL of a running Space. @throws as `fromHub`. */
async function startFromHub(repo: string, options: HubStartOptions): Promise<StartedFromHub> {
  if (/\.git(#.*)?$/.test(repo) && spaceOfPage(repo) === undefined) {
    throw new ConfigError(
      `${repo} is not a Space. Start the repository with processProvider() or uvProvider() and { git }.`,
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

/** @throws ConfigError for options that contradict each other, before any request. */
function checkWay(id: string, { useDocker = true, provider, ...options }: HubStartOptions): void {
  const { name, hasReplicas } = provider ?? (useDocker ? DEFAULTS.docker : DEFAULTS.node);
  const { env, timeoutMs, replicas } = options;
  checkSpec(name, { image: id, env, timeoutMs, replicas });
  if (!hasReplicas) rejectReplicas(name, options);
  if (useDocker) {
    imageOf(id, options);
    if (!RUNS_FOLDERS.includes(name)) return;
    throw new ConfigError(
      `The ${name} provider cannot start images. Add useDocker: false to run the repository with it.`,
    );
  }
  if (RUNS_IMAGES.includes(name)) {
    throw new ConfigError(`The ${name} provider starts images. Omit it, or omit useDocker: false.`);
  }
  const ofImage = (["tag", "registry"] as const).filter((option) => options[option] !== undefined);
  if (ofImage.length > 0) throw new ConfigError(`useDocker: false does not use an image. Omit ${ofImage.join(", ")}.`);
}

const RUNS_FOLDERS = ["process", "uv", "slurm"];
const RUNS_IMAGES = ["docker", "swarm", "kubernetes"];

interface Found {
  space: Space;
  source: StartSource;
  /** The default provider. */
  usual: Provider;
}

/** @throws ProviderError at the deadline, after partial work is undone. */
async function inTime<T>(id: string, options: HubStartOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS, signal } = options;
  const limit = createDeadline(timeoutMs, signal);
  const doing = work(limit.signal);
  try {
    return await limit.race(doing);
  } catch (error) {
    // The abandoned download removes its files first.
    await settled(doing, GIVE_UP_MS);
    throw explainEnd(error, id, limit);
  } finally {
    limit.end();
  }
}

const GIVE_UP_MS = 5_000;

async function find(id: string, options: HubStartOptions, signal: AbortSignal): Promise<Found> {
  const { token = readHubToken(), onProgress, useDocker = true } = options;
  onProgress?.(`looking up ${id} on the Hub`);
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
    throw new ConfigError(`tag ${JSON.stringify(tag)} is not valid. Use the tag of an image, such as latest.`);
  if (!/^[A-Za-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(registry)) {
    throw new ConfigError(`registry ${JSON.stringify(registry)} is not valid. Use host or host:port.`);
  }
  return `${registry}/${spaceSubdomain(id)}:${tag}`;
}

function explainEnd(error: unknown, id: string, { reason, timeoutMs }: Deadline): unknown {
  if (reason === "abort") return new ProviderError("ABORTED", `The start of ${id} was aborted.`, { cause: error });
  if (reason !== "time") return error;
  const message = `${id} was not downloaded within ${timeoutMs} ms. Increase \`timeoutMs\` if it needs more time.`;
  return new ProviderError("START_TIMEOUT", message, { cause: error });
}

function withLogin(
  error: unknown,
  { id, private: isPrivate }: Space,
  { registry = DEFAULT_REGISTRY }: HubStartOptions,
) {
  if (!(error instanceof ProviderError) || error.code !== "SOURCE_NOT_FOUND") return error;
  const reason = isPrivate
    ? `The Space ${id} is private: run \`docker login ${registry}\` with your name and token. `
    : "";
  const instead = "Or set useDocker: false to run its repository without a container.";
  return new ProviderError(error.code, `${error.message} ${reason}${instead}`, { cause: error });
}

async function useRunning(url: string, options: HubStartOptions): Promise<StartedFromHub> {
  const { token = readHubToken() } = options;
  const ofStart = OF_START.filter((name) => options[name] !== undefined);
  if (ofStart.length > 0) {
    const example = spaceOfPage(url) ?? "owner/name";
    throw new ConfigError(
      `${url} is a running Space, so nothing is started. Omit ${ofStart.join(", ")}, or start a copy with fromHub("${example}").`,
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

/** Adds advice to the error of a Space's host; the Hub was not asked about it. */
function explainConnect(error: unknown, repo: string): unknown {
  const isHost = /^https?:/.test(repo) && spaceOfPage(repo) === undefined;
  if (!isHost || !(error instanceof ConnectionError) || error.code !== "CONNECTION_FAILED") return error;
  const advice =
    "A Space that is asleep, paused or private does not answer. Use the URL of its page to find out which.";
  return new ConnectionError(error.code, `${error.message} ${advice}`, { cause: error });
}
