import { readFileSync } from "node:fs";
import type { EnvironmentDefinition } from "../../environment/environment.js";
import { ConfigError } from "../../errors.js";
import type { ResumeLimits } from "../../session/registry/session-keeper.js";
import type { RestoreLimits } from "../../session/restore-limits.js";
import type { ServeOptions } from "../types.js";
import { readSettings, type Variables } from "./read-settings.js";
import type { Settings } from "./settings.js";

/** Settings that decide something together with others, or with the environment. */
type Resolved =
  | "maxConcurrentEnvs"
  | "sessionTimeout"
  | "sessionIdleTimeout"
  | "queueTimeout"
  | "snapshotBytes"
  | "replayEvents"
  | "replayTimeout"
  | "historyBytes"
  | "resumeGuarantee"
  | "resumeAnswers"
  | "resumeBytes"
  | "isolation"
  | "isolatePoolSize"
  | "isolateSpares"
  | "stepTimeout"
  | "isolateMemoryMb"
  | "module"
  | "webInterface"
  | "readmePath"
  | "reportPath"
  | "spaceHosts";

/** Everything that a server is started with. */
export interface Config extends Omit<Settings, Resolved> {
  maxConcurrentEnvs: number;
  sessionTimeoutMs: number | null;
  sessionIdleMs: number | undefined;
  queueTimeoutMs: number;
  resume: ResumeLimits;
  restore: RestoreLimits;
  /** Undefined when sessions live in this process. */
  isolation: IsolationConfig | undefined;
  /** True when `/web/` is served. */
  webInterface: boolean;
  /** What the web interface shows as README; null for none. */
  readme: string | null;
  /** The report of a validation that the web interface shows: JSON; null for none. */
  report: string | null;
}

/** Configuration of isolation. */
export interface IsolationConfig {
  kind: "thread" | "process";
  /** The JavaScript module that exports the environment: a URL or an absolute path. */
  module: URL | string;
  /** Number of isolates that all sessions share; undefined for one isolate per session. */
  isolatePoolSize: number | undefined;
  /** Number of isolates kept ready for new sessions, with one isolate per session. */
  isolateSpares: number;
  /** Time limit of a call in milliseconds, after which its session is killed; undefined for no limit. */
  stepTimeoutMs: number | undefined;
  /** Memory limit in megabytes: JavaScript heap of a thread, all memory of a process. */
  isolateMemoryMb: number | undefined;
}

/** Characters of a README that are shown. */
const MAX_README = 1_000_000;
const MAX_REPORT = 1_000_000;
const DEFAULT_CAPACITY = 100;

/** @throws ConfigError that names the option or variable and what is allowed. */
export function readConfig(definition: EnvironmentDefinition, options: ServeOptions, variables: Variables): Config {
  checkSchemas(definition);
  const settings = readSettings(options, variables);
  const { mode, allowedHosts, spaceHosts, sessionTimeout, queueTimeout, webInterface, readmePath, reportPath } =
    settings;
  const isolated = isolation(settings);
  checkResources(definition, settings);
  checkSharedState(definition, settings);
  return {
    ...settings,
    maxConcurrentEnvs: capacity(definition, settings.maxConcurrentEnvs),
    sessionTimeoutMs: sessionTimeout === null ? null : sessionTimeout * 1000,
    sessionIdleMs: settings.sessionIdleTimeout === undefined ? undefined : settings.sessionIdleTimeout * 1000,
    allowedHosts: [...allowedHosts, ...spaceHosts],
    queueTimeoutMs: queueTimeout * 1000,
    resume: {
      guaranteeMs: settings.resumeGuarantee * 1000,
      answers: settings.resumeAnswers,
      bytes: settings.resumeBytes,
      stepTimeoutMs: isolated?.stepTimeoutMs,
    },
    restore: {
      snapshotBytes: settings.snapshotBytes,
      replayEvents: settings.replayEvents,
      replayMs: settings.replayTimeout * 1000,
      historyBytes: settings.historyBytes,
    },
    isolation: isolated,
    // The page is for people who play, not for an environment that works behind an agent.
    webInterface: webInterface === "auto" ? mode === "simulation" : webInterface,
    readme: (readmePath === undefined ? definition.readme : readReadme(readmePath)) ?? null,
    report: reportPath === undefined ? null : readReport(reportPath),
  };
}

function readReadme(path: string): string {
  try {
    return readFileSync(path, "utf8").slice(0, MAX_README);
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`ENV_README_PATH must name a text file that can be read: ${reason}`, { cause: error });
  }
}

function readReport(path: string): string {
  try {
    const text = readFileSync(path, "utf8");
    if (text.length > MAX_REPORT) throw new Error(`it has more than ${MAX_REPORT} characters`);
    const { results, verdict } = JSON.parse(text) as { results?: unknown; verdict?: unknown };
    if (!Array.isArray(results) || typeof verdict !== "string") throw new Error("it has no results and no verdict");
    return text;
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`ENV_REPORT_PATH (${path}) must name a report of openenv validate: ${reason}`, {
      cause: error,
    });
  }
}

function capacity({ supportsConcurrentSessions, contract }: EnvironmentDefinition, given: number | undefined): number {
  if (given === undefined) return supportsConcurrentSessions ? DEFAULT_CAPACITY : 1;
  if (given > 1 && !supportsConcurrentSessions) {
    throw new ConfigError(
      `MAX_CONCURRENT_ENVS is ${given}, but "${contract.name}" declares supportsConcurrentSessions: false: ` +
        "leave it out or set it to 1.",
    );
  }
  return given;
}

function isolation(settings: Settings): IsolationConfig | undefined {
  const { isolation: kind, module, isolatePoolSize, isolateSpares, stepTimeout, isolateMemoryMb, heapMb } = settings;
  if (kind === "none") {
    if (stepTimeout === undefined) return undefined;
    throw new ConfigError("STEP_TIMEOUT ends sessions that are isolated: set ISOLATION to thread or process, too.");
  }
  if (module === undefined) {
    throw new ConfigError(
      `ISOLATION "${kind}" needs the option \`module\`: the JavaScript module that exports the environment, ` +
        'as in serve(environment, { module: new URL("./environment.js", import.meta.url) }).',
    );
  }
  if (kind === "thread" && isolateMemoryMb !== undefined && heapMb !== undefined) {
    throw new ConfigError(
      `ISOLATE_MEMORY_MB is ${isolateMemoryMb} and HEAP_MB is ${heapMb}, but the limit of a process also holds for its ` +
        "threads: remove one of them, or set ISOLATION to process.",
    );
  }
  const stepTimeoutMs = stepTimeout === undefined ? undefined : stepTimeout * 1000;
  return { kind, module, isolatePoolSize, isolateSpares, stepTimeoutMs, isolateMemoryMb };
}

/** Workers, threads and processes each have memory of their own, so sessions in them cannot share any. */
function checkSharedState({ sharesState, contract }: EnvironmentDefinition, settings: Settings): void {
  if (sharesState !== "process") return;
  const { workers, isolation: kind, isolatePoolSize } = settings;
  const declared = `"${contract.name}" declares sharesState: "process": its sessions share the memory of one process`;
  if (workers > 1) throw new ConfigError(`WORKERS is ${workers}, but ${declared}. Set WORKERS to 1.`);
  if (kind !== "none" && isolatePoolSize !== 1) {
    throw new ConfigError(`ISOLATION is ${kind}, but ${declared}. Set ISOLATION to none, or ISOLATE_POOL_SIZE to 1.`);
  }
}

/** A resource must be shared as far as its scope says. */
function checkResources({ resources, contract }: EnvironmentDefinition, settings: Settings): void {
  const { workers, isolation: kind, isolatePoolSize } = settings;
  const {
    server: [ofServer],
    worker: [ofWorker],
  } = resources?.names ?? { server: [], worker: [] };
  if (ofServer !== undefined && workers > 1) {
    throw new ConfigError(
      `WORKERS is ${workers}, but the resource "${ofServer}" of "${contract.name}" has the scope "server". ` +
        'Set WORKERS to 1, or the scope to "worker".',
    );
  }
  if (ofWorker !== undefined && kind !== "none" && isolatePoolSize === undefined) {
    throw new ConfigError(
      `ISOLATION is ${kind}, but the resource "${ofWorker}" of "${contract.name}" has the scope "worker", and each ` +
        'session has its own process or thread. Set ISOLATE_POOL_SIZE, or the scope to "server" or "session".',
    );
  }
}

/** A type without JSON form is reported at the start, not to the first client that asks for `/schema`. */
function checkSchemas({ contract }: EnvironmentDefinition): void {
  try {
    contract.schemas();
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`The contract "${contract.name}" has no JSON Schema: ${reason}`, { cause: error });
  }
}
