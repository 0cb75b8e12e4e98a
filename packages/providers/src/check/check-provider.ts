import { ConfigError, OpenEnvError, ProviderError } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { checker, loadRecorder } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { CheckReport } from "openenv-ts/testing";
import { listOrphans } from "../orphans/list-orphans.js";
import type { Provider, StartedServer, StartSpec } from "../provider.js";
import { endCaller, startCaller } from "./provider-caller.js";

export interface CheckProviderOptions {
  /** Creates the provider, with these options in addition to those that the test needs. */
  create(options?: Readonly<Record<string, unknown>>): Provider;
  /** A small environment that starts. */
  works: StartSpec;
  /** Actions to play; default one empty action. */
  actions?: readonly JsonObject[];
  /** A string that `works` writes to its log. */
  writes?: string;
  /** Environments that do not start, by their defect, with the code of the error. */
  broken: Readonly<Record<string, { spec: StartSpec; code: ProviderError["code"]; message?: RegExp }>>;
  /** Creates a provider whose platform is missing. */
  unavailable?: () => Provider;
}

/**
 * Checks a provider on its real platform: starts, plays, ends, fails and is killed, and looks for leftovers each time.
 * Servers that other processes started are not touched; this process must not have started others. Takes a minute, plus
 * the time that each of `broken` takes to fail.
 * @example
 * renderCheckReport(await checkProvider({ create: dockerProvider, works: { image: "echo" }, broken: {} }));
 */
export async function checkProvider(options: CheckProviderOptions): Promise<CheckReport> {
  return checker.runChecks(`provider ${options.create().name}`, [
    { id: "play", description: "a started server can be played", run: () => play(options) },
    { id: "logs", description: "its log can be read", run: () => logs(options) },
    { id: "close", description: "close ends it, and can be called twice", run: () => close(options) },
    { id: "two", description: "two servers at once are independent", run: () => two(options) },
    { id: "unknown_options", description: "unknown options are rejected", run: () => unknownOptions(options) },
    { id: "replicas", description: "replicas are started or rejected", run: () => replicas(options) },
    { id: "deadline", description: "a start ends at its deadline", run: () => deadline(options) },
    { id: "abort", description: "a start can be aborted", run: () => abort(options) },
    ...Object.keys(options.broken).map((name) => ({
      id: `broken_${name.replaceAll(/\W+/g, "_")}`,
      description: `${name}: one clear error, and nothing is left running`,
      run: () => broken(options, name),
    })),
    { id: "unavailable", description: "reports when it cannot work here", run: () => unavailable(options) },
    ...(["SIGINT", "SIGTERM", "SIGKILL"] as const).map((signal) => ({
      id: `caller_${signal.toLowerCase()}`,
      description: `${signal} to the caller leaves nothing running`,
      run: () => callerEnds(options, signal),
    })),
  ] satisfies checker.CheckDefinition[]);
}

/** The time limit for a server to end, or to answer. */
const WAIT_MS = 20_000;
const POLL_MS = 50;
const ANSWER_MS = 2_000;

async function play({ create, works, actions = [{}] }: CheckProviderOptions): Promise<void> {
  await using started = await create().start(works);
  await using env = await connect(started.url);
  const { length } = await (await loadRecorder()).playEpisode(env, {}, actions);
  checker.demand(length > 1, "the episode was done after reset; give `actions` that can be played");
}

async function logs({ create, works, writes = "" }: CheckProviderOptions): Promise<void> {
  await using started = await create().start(works);
  await until(async () => (await started.logs()).includes(writes));
  const text = await started.logs();
  checker.demand(text.includes(writes), `"${writes}" is not in its log: ${text.slice(-500)}`);
}

async function close({ create, works }: CheckProviderOptions): Promise<void> {
  const started = await create().start(works);
  checker.demand((await leftByThis()).length > 0, "the running server is not in the list of `openenv ps`");
  await Promise.all([started.close(), started.close()]);
  await started.close();
  await demandNothing();
  checker.demand(!(await answers(started.url)), `${started.url} still answers after close()`);
}

async function two({ create, works, actions = [{}] }: CheckProviderOptions): Promise<void> {
  const provider = create();
  const both = await Promise.all([provider.start(works), provider.start(works)]);
  const [first, second] = both as [StartedServer, StartedServer];
  try {
    checker.demand(first.url !== second.url, `both have the URL ${first.url}`);
    await first.close();
    await using env = await connect(second.url);
    await (await loadRecorder()).playEpisode(env, {}, actions);
  } finally {
    await Promise.all(both.map((started) => started.close()));
  }
  await demandNothing();
}

async function unknownOptions({ create, works }: CheckProviderOptions): Promise<void> {
  const made = await failure(async () => create({ nonesuch: 1 }));
  checker.demand(made instanceof ConfigError, `the provider accepted the unknown option "nonesuch": ${String(made)}`);
  const started = await failure(() => create().start({ ...works, ...{ nonesuch: 1 } }));
  checker.demand(started instanceof ConfigError, `start() accepted the unknown option "nonesuch": ${String(started)}`);
}

async function replicas({ create, works }: CheckProviderOptions): Promise<void> {
  const provider = create();
  if (provider.hasReplicas) {
    await using started = await provider.start({ ...works, replicas: 2 });
    await using _ = await connect(started.url);
    return;
  }
  const refusal = await failure(() => provider.start({ ...works, replicas: 2 }));
  checker.demand(refusal instanceof ConfigError, `expected a ConfigError for replicas, got ${String(refusal)}`);
}

async function deadline({ create, works }: CheckProviderOptions): Promise<void> {
  const error = await failure(() => create().start({ ...works, timeoutMs: 1 }));
  demandCode(error, "START_TIMEOUT");
  await demandNothing();
}

async function abort({ create, works }: CheckProviderOptions): Promise<void> {
  demandCode(await failure(() => create().start({ ...works, signal: AbortSignal.abort() })), "ABORTED");
  const controller = new AbortController();
  const onProgress = (): void => controller.abort();
  const error = await failure(() => create().start({ ...works, signal: controller.signal, onProgress }));
  demandCode(error, "ABORTED");
  await demandNothing();
}

async function broken({ create, broken }: CheckProviderOptions, name: string): Promise<void> {
  const { spec, code, message = /./ } = broken[name] ?? {};
  const error = await failure(() => create().start(spec as StartSpec));
  demandCode(error, code as ProviderError["code"]);
  checker.demand(message.test(error.message), `the message does not match ${message}: ${error.message}`);
  await demandNothing();
}

async function unavailable({ unavailable, works }: CheckProviderOptions): Promise<void> {
  if (!unavailable) throw new checker.CheckSkip("no `unavailable` was given");
  demandCode(await failure(() => unavailable().start(works)), "PROVIDER_UNAVAILABLE");
}

async function callerEnds({ create, works }: CheckProviderOptions, signal: NodeJS.Signals): Promise<void> {
  const { descriptor } = create();
  if (!descriptor) throw new checker.CheckSkip("the provider has no `descriptor`, so another process cannot create it");
  const caller = await startCaller(descriptor, works);
  checker.demand(await until(() => answers(caller.url)), `${caller.url} does not answer`);
  await endCaller(caller, signal);
  const left = async (): Promise<number> => (await leftBy(caller.pid)).length;
  await until(async () => (await left()) === 0 && !(await answers(caller.url)));
  checker.demand(
    (await left()) === 0,
    `${await left()} are still running ${WAIT_MS} ms after the caller received ${signal}`,
  );
  checker.demand(!(await answers(caller.url)), `${caller.url} still answers`);
}

async function failure(work: () => Promise<unknown>): Promise<Error> {
  try {
    const started = await work();
    if (typeof started === "object" && started && "close" in started) await (started as StartedServer).close();
  } catch (error) {
    return error as Error;
  }
  return new Error("the start succeeded");
}

function demandCode(error: Error, code: ProviderError["code"]): void {
  const isIt = error instanceof OpenEnvError && error.code === code;
  checker.demand(isIt && error instanceof ProviderError, `expected a ProviderError ${code}, got ${String(error)}`);
}

async function demandNothing(): Promise<void> {
  await until(async () => (await leftByThis()).length === 0);
  const left = await leftByThis();
  checker.demand(left.length === 0, `still running: ${left.map(({ provider, id }) => `${provider} ${id}`).join(", ")}`);
}

const leftByThis = () => leftBy(process.pid);

async function leftBy(pid: number) {
  return (await listOrphans()).found.filter(({ owner }) => owner.pid === pid);
}

/** Waits for the condition; false when it does not become true in time. */
async function until(condition: () => Promise<boolean>): Promise<boolean> {
  const deadline = Date.now() + WAIT_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return true;
}

/** Servers of other languages may have no `/health`: any status is an answer. */
async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    () => true,
    () => false,
  );
}
