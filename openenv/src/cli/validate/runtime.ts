import { parseAddress } from "../../client/address.js";
import { ConfigError, ProviderError } from "../../errors.js";
import type { Manifest } from "../../manifest/schema.js";
import { processProvider } from "../../providers/process/process-provider.js";
import type { Started } from "../../providers/provider.js";
import { fetchJson } from "../../testing/checks/fetch-json.js";
import { type Check, type CheckServerOptions, checkServer } from "../../testing/index.js";
import { runChecks } from "../../testing/report.js";
import { findEnvironment } from "../find-environment.js";
import { loadEnvironment } from "../load-environment.js";
import { declarationChecks } from "./declarations.js";
import { type Result, toResult } from "./package-report.js";
import { type RuntimePlan, readRuntimePlan } from "./runtime-plan.js";
import type { ValidateOptions } from "./validate-package.js";

export interface Declared {
  manifest: Manifest;
  validation: NonNullable<Manifest["validation"]>;
}

export interface RuntimeOutcome {
  results: Result[];
  /** Whether a server was started, or should have been. */
  attempted: boolean;
}

/** Ids of the policy for checks that have another name where there is no policy. */
const IDS: Record<string, string> = {
  episode: "startup",
  rewards: "reward_well_formed",
  schemas_hold: "observation_schema",
  episode_id: "state_contract",
  isolated: "episode_isolation",
  seed_honoured: "seed_control",
  workers_agree: "episode_determinism",
};
/** Sessions at once: enough to see that one too many is refused. */
const CAPACITY = 4;
const START_MS = 30_000;
const ANSWER_MS = 60_000;

/** Starts the package's server with Node, twice, and makes the checks of a running server. */
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
  if (execution?.requires_credentials) return startup("skip", "the server needs credentials, which are not handed out");
  if (declared.manifest.runtime !== "node") {
    return startup("skip", `the runtime is ${declared.manifest.runtime}: start the server and validate it with --url`);
  }
  try {
    const plan = execution && (await readRuntimePlan(dir, execution.probe_path));
    await using first = await startServer(dir, declared, options);
    await using second = await startServer(dir, declared, options);
    options.onProgress("playing episodes");
    const results = await checkRunning(first, second, { declared, plan, options });
    return { results, attempted: true };
  } catch (error) {
    if (options.signal.aborted) throw error;
    if (error instanceof ConfigError) return startup("fail", error.message, "Correct what the message names.");
    if (error instanceof ProviderError) return startup("fail", error.message, "Try it: openenv serve");
    throw error;
  }
}

async function startServer(dir: string, { manifest }: Declared, options: ValidateOptions): Promise<Started> {
  const file = await findEnvironment(dir);
  const { supportsConcurrentSessions } = await loadEnvironment(file);
  options.onProgress("starting the server");
  return processProvider().start({
    directory: file,
    env: {
      ...manifest.variables,
      LOG_LEVEL: "warn",
      MAX_CONCURRENT_ENVS: String(supportsConcurrentSessions ? CAPACITY : 1),
    },
    timeoutMs: START_MS,
    signal: options.signal,
  });
}

interface Work {
  declared: Declared;
  plan: RuntimePlan | undefined;
  options: ValidateOptions;
}

async function checkRunning(first: Started, second: Started, { declared, plan, options }: Work): Promise<Result[]> {
  const { reward, resources } = declared.validation;
  const episodeTimeoutMs = resources.episode_timeout_s * 1000;
  const actions = plan?.actions ?? options.actions;
  const checking: CheckServerOptions = {
    other: second.url,
    rewardRange: reward.range,
    ignore: options.ignore,
    leaveOut: options.leaveOut,
    rounds: options.rounds,
    maxHeld: CAPACITY + 1,
    timeoutMs: Math.min(ANSWER_MS, episodeTimeoutMs),
    episodeTimeoutMs,
    signal: options.signal,
    ...(actions && { actions }),
    ...(plan && { reset: plan.reset.options, seed: plan.reset.seed, episodeId: plan.reset.episode_id }),
  };
  const { checks } = await checkServer(first.url, checking);
  const { http } = parseAddress(first.url);
  const ask = (path: string, body?: unknown) => fetchJson(http(path), { headers: {}, timeoutMs: ANSWER_MS }, body);
  const more = await runChecks(first.url, declarationChecks(declared.validation, ask), options.leaveOut);
  const results = [...checks, ...more.checks].map(fromCheck);
  // Whatever else is seen, it is the start that everything stands on.
  const order = ({ check_id }: Result): number => (check_id === "runtime.startup" ? 0 : 1);
  return results.sort((a, b) => order(a) - order(b));
}

function fromCheck({ id, description, status, detail, remedy, expected, actual, durationMs }: Check): Result {
  const facts = { ...(expected !== undefined && { expected }), ...(actual !== undefined && { actual }) };
  return toResult(`runtime.${IDS[id] ?? id}`, STATUSES[status], [detail ?? description], {
    measured: facts,
    remediation: remedy ?? null,
    duration_s: durationMs / 1000,
  });
}

const STATUSES = { passed: "pass", failed: "fail", skipped: "skip" } as const;
