import { ConfigError } from "openenv-ts";
import { loadLogger } from "openenv-ts/internal";
import { type RunningServer, type ServeOptions, serve } from "openenv-ts/server";
import { startFleet } from "./fleet/fleet.js";
import type { FleetOptions } from "./fleet/options.js";
import type { Fleet } from "./fleet/types.js";
import { defineFront } from "./session/define-front.js";

/** Clients that wait for a place, unless a setting says otherwise: a server without upstreams has no queue by itself. */
const QUEUE_SIZE = 1_024;

/** Sessions of upstreams in a file, which may become more. */
const MAX_SESSIONS = 4_000;

export interface UpstreamOptions extends Omit<FleetOptions, "log"> {
  /** An episode whose upstream dies is made again in another one, from its seed. */
  replay?: boolean | undefined;
}

/**
 * Serves the environment of other servers, in any language. Their processes end with the server.
 * @throws ConfigError for several workers, when an upstream is not an OpenEnv server, and with `replay` when its seeds do not decide
 * its answers; ProviderError when none starts.
 */
export async function serveUpstreams(
  { replay, ...upstreams }: UpstreamOptions,
  options: ServeOptions = {},
): Promise<RunningServer> {
  if (Number(options.workers ?? process.env["WORKERS"] ?? 1) > 1) {
    throw new ConfigError(
      "A server with upstreams runs in one process: set WORKERS to 1, and start more upstreams instead.",
    );
  }
  const { createLogger } = await loadLogger();
  const log = createLogger(options.logLevel ?? "info");
  const ends: AsyncDisposable = {
    async [Symbol.asyncDispose]() {
      await fleet?.[Symbol.asyncDispose]();
      log.close();
    },
  };
  let fleet: Fleet | undefined;
  try {
    fleet = await startFleet({ ...upstreams, log });
    const environment = await defineFront(fleet, { replay, log });
    const plugins = [...(options.plugins ?? []), { name: "upstreams", start: () => ends }];
    return await serve(environment, { ...defaultsOf(upstreams), ...options, plugins });
  } catch (error) {
    await ends[Symbol.asyncDispose]();
    throw error;
  }
}

/** The settings that follow from the upstreams, where no variable says otherwise. */
function defaultsOf({
  command,
  processes = 1,
  urls = [],
  file,
  sessionsPerUpstream = 1,
}: UpstreamOptions): ServeOptions {
  const count = command !== undefined ? processes : urls.length;
  const defaults = {
    MAX_CONCURRENT_ENVS: { maxConcurrentEnvs: file === undefined ? count * sessionsPerUpstream : MAX_SESSIONS },
    QUEUE_SIZE: { queueSize: QUEUE_SIZE },
  };
  return Object.assign({}, ...Object.entries(defaults).flatMap(([name, value]) => (process.env[name] ? [] : [value])));
}
