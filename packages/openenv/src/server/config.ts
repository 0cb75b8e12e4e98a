import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { EnvironmentDefinition } from "../environment/environment.js";
import { ConfigError } from "../errors.js";
import type { IsolationConfig } from "../session/isolation/isolate-environment.js";
import type { Mode } from "../session/runtime.js";
import { MAX_MESSAGE_ITEMS } from "../session/runtime.js";
import type { LogLevel } from "../util/log.js";
import { parseHosts, parseOrigins } from "./access/origins.js";
import { readTokens, type Tokens } from "./access/tokens.js";
import type { ServeOptions } from "./types.js";

/** Everything a server is started with, decided: options first, then environment variables, then defaults. */
export interface Config extends Tokens {
  host: string;
  port: number;
  mode: Mode;
  maxConcurrentEnvs: number;
  sessionTimeoutMs: number | null;
  allowedOrigins: readonly string[];
  /** With the name that Hugging Face gives a Space. */
  allowedHosts: readonly string[];
  maxMessageBytes: number;
  maxMessageItems: number;
  pingIntervalMs: number;
  graceMs: number;
  drainMs: number;
  /** Processes behind the one address. */
  workers: number;
  /** Milliseconds without a sign of life after which a worker is replaced. */
  hangMs: number;
  queueSize: number;
  queueTimeoutMs: number;
  /** Undefined when sessions live in this process. */
  isolation: IsolationConfig | undefined;
  logLevel: LogLevel;
  /** Whether `/web/` is served. */
  webInterface: boolean;
  /** What the web interface shows as README; null for none. */
  readme: string | null;
  /** `owner/name` on Hugging Face Spaces, else null. */
  spaceId: string | null;
  /** Name of the deployment that this server belongs to, by which balancers recognize their own servers. */
  deployment: string | undefined;
}

/** What is needed to watch over workers, without the environment. */
export type SupervisorConfig = Pick<
  Config,
  "host" | "port" | "graceMs" | "drainMs" | "workers" | "hangMs" | "logLevel"
>;

type Variables = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const MODES = ["simulation", "production"] as const;
const ISOLATION = ["none", "thread", "process"] as const;
/** As the reference reads them, and their opposites. */
const ON = ["true", "1", "yes"];
const OFF = ["false", "0", "no"];
/** Characters of a README that are shown. */
const MAX_README = 1_000_000;
const DEFAULT_CAPACITY = 100;
const COUNT_FROM_ZERO = { min: 0, max: 10_000_000, whole: true };

/** @throws ConfigError that names the option or variable and what is allowed. */
export function readSupervisorConfig(options: ServeOptions, variables: Variables): SupervisorConfig {
  return {
    host: filled("HOST", options.host) ?? text(variables, "HOST") ?? "127.0.0.1",
    port: number("PORT", options.port ?? text(variables, "PORT") ?? 8000, { min: 0, max: 65_535, whole: true }),
    graceMs:
      milliseconds("graceMs", options.graceMs, 0) ?? seconds("SHUTDOWN_GRACE", text(variables, "SHUTDOWN_GRACE") ?? 8),
    drainMs: milliseconds("drainMs", options.drainMs, 0) ?? drainTime(text(variables, "SHUTDOWN_DRAIN") ?? 0),
    workers: workers(options.workers ?? text(variables, "WORKERS") ?? 1),
    hangMs:
      milliseconds("workerTimeoutMs", options.workerTimeoutMs) ??
      seconds("WORKER_TIMEOUT", text(variables, "WORKER_TIMEOUT") ?? 30),
    logLevel: choice(
      "LOG_LEVEL",
      options.logLevel ?? text(variables, "LOG_LEVEL")?.toLowerCase() ?? "info",
      LOG_LEVELS,
    ),
  };
}

/** @throws ConfigError that names the option or variable and what is allowed. */
export function readConfig(definition: EnvironmentDefinition, options: ServeOptions, variables: Variables): Config {
  const sessionTimeout = options.sessionTimeout;
  checkSchemas(definition);
  const mode = choice(
    "OPENENV_MODE",
    options.mode ?? text(variables, "OPENENV_MODE")?.toLowerCase() ?? "simulation",
    MODES,
  );
  return {
    ...readSupervisorConfig(options, variables),
    mode,
    maxConcurrentEnvs: capacity(definition, options, variables),
    sessionTimeoutMs:
      sessionTimeout === null
        ? null
        : seconds("SESSION_TIMEOUT", sessionTimeout ?? text(variables, "SESSION_TIMEOUT") ?? 900),
    allowedOrigins: parseOrigins(options.allowedOrigins ?? (text(variables, "ALLOWED_ORIGINS") ?? "").split(",")),
    allowedHosts: [
      ...parseHosts("ALLOWED_HOSTS", options.allowedHosts ?? (text(variables, "ALLOWED_HOSTS") ?? "").split(",")),
      ...parseHosts("SPACE_HOST", (text(variables, "SPACE_HOST") ?? "").split(",")),
    ],
    ...readTokens(options, variables),
    maxMessageBytes: number(
      "MAX_MESSAGE_BYTES",
      options.maxMessageBytes ?? text(variables, "MAX_MESSAGE_BYTES") ?? 16 * 1024 * 1024,
      { min: 1024, max: 512 * 1024 * 1024, whole: true },
    ),
    maxMessageItems: number(
      "MAX_MESSAGE_ITEMS",
      options.maxMessageItems ?? text(variables, "MAX_MESSAGE_ITEMS") ?? MAX_MESSAGE_ITEMS,
      { min: 1000, max: 512 * 1024 * 1024, whole: true },
    ),
    pingIntervalMs:
      milliseconds("pingIntervalMs", options.pingIntervalMs) ??
      seconds("PING_INTERVAL", text(variables, "PING_INTERVAL") ?? 20),
    queueSize: number("QUEUE_SIZE", options.queueSize ?? text(variables, "QUEUE_SIZE") ?? 0, COUNT_FROM_ZERO),
    queueTimeoutMs: seconds("QUEUE_TIMEOUT", options.queueTimeout ?? text(variables, "QUEUE_TIMEOUT") ?? 30),
    isolation: isolation(options, variables),
    webInterface: webInterface(options.webInterface ?? text(variables, "ENABLE_WEB_INTERFACE") ?? "auto", mode),
    readme:
      readme(filled("readmePath", options.readmePath) ?? text(variables, "ENV_README_PATH")) ??
      definition.readme ??
      null,
    spaceId: text(variables, "SPACE_ID") ?? null,
    deployment: text(variables, "OPENENV_DEPLOYMENT"),
  };
}

/** Auto: for people who play, not where an environment works behind an agent. */
function webInterface(given: boolean | string, mode: Mode): boolean {
  const word = String(given).toLowerCase();
  if (word === "auto") return mode === "simulation";
  if (ON.includes(word)) return true;
  if (OFF.includes(word)) return false;
  throw new ConfigError(`ENABLE_WEB_INTERFACE must be one of auto, true, false, not "${given}".`);
}

function readme(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8").slice(0, MAX_README);
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`ENV_README_PATH must name a text file that can be read: ${reason}`, { cause: error });
  }
}

function capacity(definition: EnvironmentDefinition, options: ServeOptions, variables: Variables): number {
  const given = options.maxConcurrentEnvs ?? text(variables, "MAX_CONCURRENT_ENVS");
  const { supportsConcurrentSessions, contract } = definition;
  if (given === undefined) return supportsConcurrentSessions ? DEFAULT_CAPACITY : 1;
  const value = number("MAX_CONCURRENT_ENVS", given, { min: 1, max: 10_000_000, whole: true });
  if (value > 1 && !supportsConcurrentSessions) {
    throw new ConfigError(
      `MAX_CONCURRENT_ENVS is ${value}, but "${contract.name}" declares supportsConcurrentSessions: false: ` +
        "leave it out or set it to 1.",
    );
  }
  return value;
}

function workers(given: number | string): number {
  if (given === "auto") return availableParallelism();
  return number("WORKERS", given, { min: 1, max: 1024, whole: true });
}

function isolation(options: ServeOptions, variables: Variables): IsolationConfig | undefined {
  const kind = choice("ISOLATION", options.isolation ?? text(variables, "ISOLATION") ?? "none", ISOLATION);
  const isolatePoolSize = options.isolatePoolSize ?? text(variables, "ISOLATE_POOL_SIZE");
  const stepTimeout = options.stepTimeout ?? text(variables, "STEP_TIMEOUT");
  const memory = options.isolateMemoryMb ?? text(variables, "ISOLATE_MEMORY_MB");
  if (kind === "none") {
    if (stepTimeout === undefined) return undefined;
    throw new ConfigError("STEP_TIMEOUT ends sessions that are isolated: set ISOLATION to thread or process, too.");
  }
  if (options.module === undefined) {
    throw new ConfigError(
      `ISOLATION "${kind}" needs the option \`module\`: the JavaScript module that exports the environment, ` +
        'as in serve(environment, { module: new URL("./environment.js", import.meta.url) }).',
    );
  }
  return {
    kind,
    module: options.module,
    isolatePoolSize:
      isolatePoolSize === undefined
        ? undefined
        : number("ISOLATE_POOL_SIZE", isolatePoolSize, { min: 1, max: 1024, whole: true }),
    isolateSpares: number(
      "ISOLATE_SPARES",
      options.isolateSpares ?? text(variables, "ISOLATE_SPARES") ?? 1,
      COUNT_FROM_ZERO,
    ),
    stepTimeoutMs: stepTimeout === undefined ? undefined : seconds("STEP_TIMEOUT", stepTimeout),
    isolateMemoryMb:
      memory === undefined ? undefined : number("ISOLATE_MEMORY_MB", memory, { min: 8, max: 1_000_000, whole: true }),
  };
}

/** What has no JSON form is said now, not to the first who asks for `/schema`. */
function checkSchemas({ contract }: EnvironmentDefinition): void {
  try {
    contract.schemas();
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`The contract "${contract.name}" has no JSON Schema: ${reason}`, { cause: error });
  }
}

function filled(name: string, given: string | undefined): string | undefined {
  if (given === undefined || (typeof given === "string" && given.trim() !== "")) return given;
  throw new ConfigError(`${name} must be a text that is not empty, not "${String(given)}".`);
}

/** An empty variable counts as unset. */
function text(variables: Variables, name: string): string | undefined {
  return variables[name]?.trim() || undefined;
}

interface Range {
  min: number;
  max: number;
  whole: boolean;
}

function number(name: string, given: string | number, { min, max, whole }: Range): number {
  const value = Number(given);
  if (Number.isFinite(value) && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  throw new ConfigError(`${name} must be a ${whole ? "whole " : ""}number from ${min} to ${max}, not "${given}".`);
}

function seconds(name: string, given: string | number): number {
  return number(name, given, { min: 0.001, max: 2_000_000, whole: false }) * 1000;
}

function drainTime(given: string | number): number {
  return number("SHUTDOWN_DRAIN", given, { min: 0, max: 2_000_000, whole: false }) * 1000;
}

function milliseconds(name: string, given: number | undefined, min = 1): number | undefined {
  return given === undefined ? undefined : number(name, given, { min, max: 2_000_000_000, whole: false });
}

function choice<T extends string>(name: string, given: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === given);
  if (found === undefined) throw new ConfigError(`${name} must be one of ${allowed.join(", ")}, not "${given}".`);
  return found;
}
