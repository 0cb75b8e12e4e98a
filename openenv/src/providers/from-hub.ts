import type { ClientContract, GenericContract } from "../client/contract.js";
import { ConfigError, ConnectionError, ProviderError } from "../errors.js";
import { readHubToken } from "../util/hub-account.js";
import { refuseReplicas, refuseUnknown } from "./check-options.js";
import { connectStarted, type StartedClient } from "./connect-started.js";
import { dockerProvider } from "./docker/docker-provider.js";
import type { FromOptions } from "./from-docker-image.js";
import { findSpace, mustHaveImage, mustRun, type Space } from "./hub/find-space.js";
import { parseSpaceId, spaceOfPage, spaceSubdomain } from "./hub/space-id.js";
import { createLimit, type Limit } from "./limit.js";
import { startSpared } from "./prewarm.js";
import { processProvider } from "./process/process-provider.js";
import { DEFAULT_START_TIMEOUT_MS, type Provider, type Started, type StartSource } from "./provider.js";
import { checkOut } from "./repository/checkout.js";
import { uvProvider } from "./uv/uv-provider.js";

/** Options of `fromHub`; those of a start are refused for a Space that is used where it runs. */
export interface HubOptions<C extends ClientContract = GenericContract> extends FromOptions<C> {
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
  "timeoutMs",
  "replicas",
  "onProgress",
  "useDocker",
  "tag",
  "registry",
] as const satisfies readonly (keyof HubOptions)[];
const KNOWN = [...OF_START, "contract", "connect", "signal", "token"] as const satisfies readonly (keyof HubOptions)[];

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
  options: HubOptions<C> = {},
): Promise<StartedClient<C>> {
  refuseUnknown("fromHub()", options, KNOWN);
  if (/^https?:\/\//.test(repo)) return useRunning(repo, options);
  const id = parseSpaceId(repo);
  const { contract, connect = {}, prewarm = 0, signal } = options;
  const { started } = await startOwn(id, { ...options, prewarm });
  return connectStarted(started, contract, { ...connect, signal });
}

/** The name that the Python package has for it. */
export const fromEnv = fromHub;

/** One for all calls, so that they share their spares. */
const DEFAULTS = { docker: dockerProvider(), node: processProvider(), python: uvProvider() };
const DEFAULT_REGISTRY = "registry.hf.space";

async function startOwn(id: string, options: HubOptions & { prewarm: number }): Promise<{ started: Started }> {
  const { provider, prewarm, useDocker = true, replicas, env, onProgress, signal } = options;
  const { timeoutMs = DEFAULT_START_TIMEOUT_MS } = options;
  if (!(provider ?? DEFAULTS.docker).hasReplicas) refuseReplicas((provider ?? DEFAULTS.docker).name, { replicas });
  const imageOf = useDocker ? namer(options) : undefined;
  const deadline = Date.now() + timeoutMs;
  const limit = createLimit(timeoutMs, signal);
  let found: { space: Space; source: StartSource; usual: Provider };
  try {
    found = await limit.race(find(id, { imageOf, options, limit }));
  } catch (error) {
    throw explainEnd(error, id, limit);
  } finally {
    limit.end();
  }
  const { space, source, usual } = found;
  const rest = { env, replicas, onProgress, signal, timeoutMs: Math.max(1, deadline - Date.now()) };
  try {
    return { started: await startSpared(provider ?? usual, { ...source, ...rest }, prewarm) };
  } catch (error) {
    throw useDocker ? withLogin(error, space, options) : error;
  }
}

interface Search {
  imageOf: ((id: string) => string) | undefined;
  options: HubOptions;
  limit: Limit;
}

async function find(id: string, { imageOf, options, limit }: Search) {
  const { token = readHubToken(), onProgress } = options;
  onProgress?.(`asking the Hub about ${id}`);
  const space = await findSpace(id, { token, signal: limit.signal });
  if (imageOf) {
    mustHaveImage(space);
    return { space, source: { image: imageOf(id) }, usual: DEFAULTS.docker };
  }
  const { dir, runtime } = await checkOut({ space, token }, { signal: limit.signal, progress: onProgress });
  return { space, source: { directory: dir }, usual: DEFAULTS[runtime] };
}

/** Checks the parts of an image's name before anything is asked. */
function namer({ tag = "latest", registry = DEFAULT_REGISTRY }: HubOptions): (id: string) => string {
  if (!/^\w[\w.-]{0,127}$/.test(tag))
    throw new ConfigError(`tag is ${JSON.stringify(tag)}; it is no version of an image.`);
  if (!/^[A-Za-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(registry)) {
    throw new ConfigError(`registry is ${JSON.stringify(registry)}; give host or host:port.`);
  }
  return (id) => `${registry}/${spaceSubdomain(id)}:${tag}`;
}

function explainEnd(error: unknown, id: string, { reason, timeoutMs }: Limit): unknown {
  if (reason === "abort") return new ProviderError("ABORTED", `The start of ${id} was aborted.`, { cause: error });
  if (reason !== "time") return error;
  const message = `${id} was not fetched within ${timeoutMs} ms. Raise \`timeoutMs\` if it only needs longer.`;
  return new ProviderError("START_TIMEOUT", message, { cause: error });
}

function withLogin(error: unknown, { id, private: isPrivate }: Space, { registry = DEFAULT_REGISTRY }: HubOptions) {
  if (!(error instanceof ProviderError) || error.code !== "SOURCE_NOT_FOUND") return error;
  const reason = isPrivate ? `The Space ${id} is private: \`docker login ${registry}\` with your name and token. ` : "";
  const instead = "Or run its repository without a container: useDocker: false.";
  return new ProviderError(error.code, `${error.message} ${reason}${instead}`, { cause: error });
}

async function useRunning<C extends ClientContract>(url: string, options: HubOptions<C>): Promise<StartedClient<C>> {
  const { contract, connect = {}, signal, token = readHubToken() } = options;
  const ofStart = OF_START.filter((name) => options[name] !== undefined);
  if (ofStart.length > 0) {
    const example = spaceOfPage(url) ?? "owner/name";
    throw new ConfigError(
      `${url} is used where it runs, nothing is started: leave out ${ofStart.join(", ")}, or start your own: fromHub("${example}").`,
    );
  }
  const id = spaceOfPage(url);
  const space = id === undefined ? undefined : await findSpace(id, { token, signal });
  if (space) mustRun(space);
  const running: Started = {
    url: space?.url ?? url,
    logs: async () => "",
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  // Only a private Space is told who asks.
  const access = space?.private && token ? { token } : {};
  try {
    return await connectStarted(running, contract, { ...access, ...connect, signal });
  } catch (error) {
    if (space || !(error instanceof ConnectionError) || error.code !== "CONNECTION_FAILED") throw error;
    const advice = "A Space that is asleep, paused or private does not answer; the URL of its page says which it is.";
    throw new ConnectionError(error.code, `${error.message} ${advice}`, { cause: error });
  }
}
