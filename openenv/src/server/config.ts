import type { EnvironmentDefinition } from "../env/environment.js";
import { ConfigError } from "../errors.js";
import type { LogLevel, Mode, ServeOptions } from "./types.js";

/** Everything a server is started with, decided: options first, then environment variables, then defaults. */
export interface Config {
  host: string;
  port: number;
  mode: Mode;
  maxConcurrentEnvs: number;
  sessionTimeoutMs: number | null;
  allowedOrigins: readonly string[];
  operatorToken: string | undefined;
  maxMessageBytes: number;
  pingIntervalMs: number;
  graceMs: number;
  logLevel: LogLevel;
}

type Variables = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const MODES = ["simulation", "production"] as const;
const DEFAULT_CAPACITY = 100;

/** @throws ConfigError that names the option or variable and what is allowed. */
export function readConfig(definition: EnvironmentDefinition, options: ServeOptions, variables: Variables): Config {
  const sessionTimeout = options.sessionTimeout;
  return {
    host: options.host ?? text(variables, "HOST") ?? "127.0.0.1",
    port: number("PORT", options.port ?? text(variables, "PORT") ?? 8000, { min: 0, max: 65_535, whole: true }),
    mode: choice("OPENENV_MODE", options.mode ?? text(variables, "OPENENV_MODE")?.toLowerCase() ?? "simulation", MODES),
    maxConcurrentEnvs: capacity(definition, options, variables),
    sessionTimeoutMs:
      sessionTimeout === null
        ? null
        : seconds("SESSION_TIMEOUT", sessionTimeout ?? text(variables, "SESSION_TIMEOUT") ?? 900),
    allowedOrigins: options.allowedOrigins ?? origins(text(variables, "ALLOWED_ORIGINS") ?? ""),
    operatorToken: options.operatorToken ?? text(variables, "OPENENV_OPERATOR_TOKEN"),
    maxMessageBytes: number(
      "MAX_MESSAGE_BYTES",
      options.maxMessageBytes ?? text(variables, "MAX_MESSAGE_BYTES") ?? 16 * 1024 * 1024,
      { min: 1024, max: 512 * 1024 * 1024, whole: true },
    ),
    pingIntervalMs: options.pingIntervalMs ?? seconds("PING_INTERVAL", text(variables, "PING_INTERVAL") ?? 20),
    graceMs: options.graceMs ?? seconds("SHUTDOWN_GRACE", text(variables, "SHUTDOWN_GRACE") ?? 10),
    logLevel: choice(
      "LOG_LEVEL",
      options.logLevel ?? text(variables, "LOG_LEVEL")?.toLowerCase() ?? "info",
      LOG_LEVELS,
    ),
  };
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

function choice<T extends string>(name: string, given: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === given);
  if (found === undefined) throw new ConfigError(`${name} must be one of ${allowed.join(", ")}, not "${given}".`);
  return found;
}

function origins(list: string): string[] {
  const names = list.split(",").flatMap((name) => name.trim() || []);
  return names.map((name) => {
    if (name === "*") return name;
    if (!URL.canParse(name))
      throw new ConfigError(`ALLOWED_ORIGINS needs origins such as https://example.org, not "${name}".`);
    return new URL(name).origin;
  });
}
