import {
  ConfigError,
  defineEnvironment,
  type EnvironmentDefinition,
  type EnvironmentMetric,
  type FactoryContext,
} from "openenv-ts";
import type { FleetLog } from "../fleet/options.js";
import type { Fleet, UpstreamStatus } from "../fleet/types.js";
import { checkSeeds } from "./check-seeds.js";
import { describeUpstream } from "./describe-upstream.js";
import { openSession } from "./open-session.js";
import { UpstreamSession } from "./upstream-session.js";

export interface FrontOptions {
  /** An episode whose upstream dies is made again in another one, from its seed. */
  replay?: boolean | undefined;
  log: FleetLog;
}

const AT_ONCE: FactoryContext = {
  resources: {},
  signal: new AbortController().signal,
  wait: async (work) => work,
};

/**
 * The environment whose sessions are those of the upstreams. @throws ConfigError when an upstream is not an OpenEnv server, or
 * with `replay` when its seeds do not decide its answers.
 */
export async function defineFront(fleet: Fleet, { replay = false, log }: FrontOptions): Promise<EnvironmentDefinition> {
  const url = (): string => (fleet.upstreams.find(({ state }) => state === "ready") ?? fleet.upstreams[0])?.url ?? "";
  const open = (context = AT_ONCE) => openSession(fleet, context);
  const first = await openSession(fleet, AT_ONCE, true);
  const { contract, metadata, tasks } = await describeUpstream(first, url).finally(async () => {
    await first.socket.close();
    first.place[Symbol.dispose]();
  });
  const difference = replay ? await checkSeeds(open, contract) : undefined;
  if (difference !== undefined) {
    throw new ConfigError(
      `The environment does not honour seeds, so its episodes cannot be made again: two episodes with the same seed differ (${difference}). Serve it without --replay.`,
    );
  }
  const names = Object.keys(contract.tools);
  const reopen = replay ? (hasViews: boolean) => openSession(fleet, AT_ONCE, hasViews) : undefined;
  const { readme_content: readme, author, documentation_url: documentationUrl } = metadata;
  const front = defineEnvironment(
    contract,
    async (context) =>
      new UpstreamSession(await open(context), { tools: names, reopen, views: first.hasViews, log }) as never,
    {
      seeded: replay,
      capacity: { max: () => fleet.capacity(), onChange: (listener) => fleet.onChange(listener) },
      metrics: metricsOf(fleet),
      ...(readme !== null && { readme }),
      ...(author !== null && { author }),
      ...(documentationUrl !== null && { documentationUrl }),
    },
  );
  // The upstreams look up their tasks themselves: as an option, they would be looked up here.
  return { ...front, ...(tasks && { tasks }), passesOn: true };
}

function metricsOf(fleet: Fleet): Record<string, EnvironmentMetric> {
  const row = (
    type: EnvironmentMetric["type"],
    help: string,
    read: (status: UpstreamStatus) => number | undefined,
  ): EnvironmentMetric => ({
    type,
    help,
    read: () =>
      fleet.upstreams.flatMap((one) => {
        const value = read(one);
        return value === undefined ? [] : [[{ upstream: one.name }, value] as [Record<string, string>, number]];
      }),
  });
  return {
    upstream_up: row("gauge", "1 while the upstream answers.", ({ state }) => Number(state === "ready")),
    upstream_sessions: row("gauge", "Sessions of the upstream.", ({ sessions }) => sessions),
    upstream_episodes_total: row("counter", "Episodes that began in the upstream.", ({ episodes }) => episodes),
    upstream_restarts_total: row("counter", "Processes that were replaced.", ({ restarts }) => restarts),
    upstream_memory_bytes: row(
      "gauge",
      "Resident memory of the process and its children.",
      ({ memoryBytes }) => memoryBytes,
    ),
  };
}
