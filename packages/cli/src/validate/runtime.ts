import { processProvider, type StartedServer } from "@openenv-ts/providers";
import { type EnvironmentDefinition, ProviderError } from "openenv-ts";
import { connect, OpenEnvError } from "openenv-ts/client";
import { ConfigError, checker, offers } from "openenv-ts/internal";
import { type Check, checkServer } from "openenv-ts/testing";
import { findEnvironment } from "../project/find-environment.js";
import { loadEnvironment } from "../project/load-environment.js";
import { recordReads } from "../project/record-reads.js";
import { clientImportsCheck } from "./client-imports.js";
import { checkContainer } from "./container/runtime-container.js";
import { dataFilesCheck } from "./data-files.js";
import { declarationChecks } from "./declarations.js";
import { pythonClientCheck } from "./python-client.js";
import type { ReplayPair } from "./replay.js";
import { type Result, toResult } from "./report/package-report.js";
import { findRuntimePlan, type RuntimePlan } from "./runtime-plan.js";
import { fromCheck, joinResults } from "./runtime-results.js";
import { sampleActions } from "./semantic/agents.js";
import { SEED } from "./semantic/cases.js";
import { checkSemantics } from "./semantic/run.js";
import type { Declared, ServerChecking, ValidateOptions } from "./validate-options.js";

export interface RuntimeOutcome {
  results: Result[];
  /** True when the server was started, or the start failed. */
  attempted: boolean;
}

/** Number of sampled actions in an episode without a plan. */
const SAMPLES = 4;
/** Concurrent sessions: enough to check that one more is rejected. */
const CAPACITY = 4;
const START_MS = 30_000;
const ANSWER_MS = 60_000;

/** Starts the package's server twice with Node, and in a container if one is declared, and checks the running servers. */
export async function checkRuntime(dir: string, declared: Declared, options: ValidateOptions): Promise<RuntimeOutcome> {
  const start = performance.now();
  const startup = (status: Result["status"], evidence: string, remediation: string | null = null): RuntimeOutcome => ({
    results: [
      toResult("runtime.startup", status, evidence.split("\n"), {
        remediation,
        duration_s: (performance.now() - start) / 1000,
      }),
    ],
    attempted: status !== "skip",
  });
  const { execution } = declared.validation;
  if (execution?.requires_credentials)
    return startup("skip", "the server requires credentials, which are not available here");
  if (declared.manifest.runtime !== "node") {
    return startup("skip", `the runtime is ${declared.manifest.runtime}: start the server and validate it with --url`);
  }
  const failed = (error: unknown): RuntimeOutcome => {
    if (options.signal.aborted) throw error;
    if (error instanceof ConfigError) return startup("fail", error.message, "Fix what the message reports.");
    if (error instanceof ProviderError) {
      // Without a provider the server never started, so the package is not at fault.
      const status = error.code === "PROVIDER_UNAVAILABLE" ? "error" : "fail";
      return startup(status, error.message, "Reproduce it: openenv serve");
    }
    if (error instanceof OpenEnvError && error.code === "BUILD_FAILED")
      return startup("fail", error.message, "Reproduce it: openenv build");
    throw error;
  };
  try {
    const plan = await findRuntimePlan(dir, execution);
    const file = await findEnvironment(dir);
    const read = new Set<string>();
    const stop = recordReads((path) => read.add(path));
    const environment = await loadEnvironment(file).finally(stop);
    const work: Work = { dir, file, declared, environment, read, plan, options };
    await using first = await startServer(file, work);
    await using second = await startServer(file, work);
    options.onProgress("running episodes");
    const checking = checkingOptions(second, work);
    const { action, tools = [] } = environment.contract.schemas();
    const actions = checking.actions ?? sampleActions(offers.offeredActions({ action, tools }), SAMPLES, SEED);
    const replay = { first: first.url, actions, checking };
    const results = await checkProcess({ ...replay, second: second.url, logs: first.logs }, work);
    if (options.skipBuild) return { results: joinResults(results, []), attempted: true };
    const { level, signal, onProgress } = options;
    const container = checkContainer({ dir, declared, checking, replay, level, signal, onProgress });
    // A failure in the container does not discard the results of the process.
    const inContainer = await container.catch((error: unknown) => failed(error).results);
    return { results: joinResults(results, inContainer), attempted: true };
  } catch (error) {
    return failed(error);
  }
}

async function startServer(file: string, { declared, environment, options }: Work): Promise<StartedServer> {
  options.onProgress("starting the server");
  return processProvider().start({
    directory: file,
    env: {
      ...declared.manifest.variables,
      LOG_LEVEL: "warn",
      MAX_CONCURRENT_ENVS: String(environment.supportsConcurrentSessions ? CAPACITY : 1),
    },
    timeoutMs: START_MS,
    signal: options.signal,
  });
}

interface Work {
  dir: string;
  /** The module of the environment. */
  file: string;
  declared: Declared;
  environment: EnvironmentDefinition;
  /** Files that were read while the environment was loaded. */
  read: ReadonlySet<string>;
  plan: RuntimePlan | undefined;
  options: ValidateOptions;
}

type Process = Omit<ReplayPair, "made"> & Pick<StartedServer, "logs">;

async function checkProcess(replay: Process, work: Work): Promise<Result[]> {
  const { dir, file, declared, options } = work;
  const { checks } = await checkServer(replay.first, replay.checking);
  const packageChecks = [
    ...declarationChecks(declared.validation, replay.first),
    pythonClientCheck(dir),
    clientImportsCheck(dir),
    dataFilesCheck(dir, file, await recordReset(work, replay, checks)),
  ];
  const more = await checker.runChecks(replay.first, packageChecks, options.leaveOut);
  const semantic = options.level === "semantic" ? await checkReward(replay, work, checks) : [];
  return joinResults([...checks, ...more.checks].map(fromCheck), semantic.map(fromCheck));
}

function checkReward(replay: Process, { dir, declared, environment, options }: Work, made: readonly Check[]) {
  const { first, second, checking, logs, actions } = replay;
  const { isRequested = false, oracle, search } = options;
  return checkSemantics(
    first,
    { ...checking, actions, other: second },
    { ...{ dir, oracle, search, isRequested, made, logs }, ...declared, schemas: environment.contract.schemas() },
  );
}

/** Adds the files that a reset reads. The reset runs in this process, so only if the server answered it in time. */
async function recordReset(
  { environment, read }: Work,
  { checking: { reset, seed } }: Omit<ReplayPair, "made">,
  made: readonly Check[],
): Promise<ReadonlySet<string>> {
  if (made.some(({ id, status }) => id === "episode" && status !== "passed")) return read;
  const all = new Set(read);
  const stop = recordReads((path) => all.add(path));
  try {
    await using env = await connect(environment);
    await env.reset({ ...reset, ...(seed !== undefined && { seed }) });
  } catch {
    // The reset may need the variables of the manifest, which only the server has.
  } finally {
    stop();
  }
  return all;
}

function checkingOptions(second: StartedServer, { declared, environment, plan, options }: Work): ServerChecking {
  const { reward, resources, varies } = declared.validation;
  const episodeTimeoutMs = resources.episode_timeout_s * 1000;
  const actions = plan?.actions ?? options.actions;
  return {
    other: second.url,
    rewardRange: reward.range,
    ignore: [...varies, ...options.ignore],
    leaveOut: options.leaveOut,
    rounds: options.rounds,
    maxHeld: CAPACITY + 1,
    timeoutMs: Math.min(ANSWER_MS, episodeTimeoutMs),
    episodeTimeoutMs,
    signal: options.signal,
    // With `varies`, the other fields are compared.
    ...(environment.seeded !== undefined &&
      (environment.seeded || varies.length === 0) && { seeded: environment.seeded }),
    ...(actions && { actions }),
    ...(plan && { reset: plan.reset.options, seed: plan.reset.seed, episodeId: plan.reset.episode_id }),
  };
}
