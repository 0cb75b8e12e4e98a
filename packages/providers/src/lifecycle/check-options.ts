import { ConfigError } from "openenv-ts";
import type { StartOptions, StartSpec } from "../provider.js";

/** The longest delay of a timer, milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Rejects unknown options: a misspelt limit must not start without the limit.
 * @throws ConfigError with the unknown and the known options.
 */
export function rejectUnknown(where: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const list = known.length > 0 ? `it has ${known.join(", ")}` : "it has none";
  throw new ConfigError(`${where} has no option ${unknown.map((name) => `"${name}"`).join(", ")}; ${list}.`);
}

const SOURCES = ["image", "directory", "git"] as const;
const OPTIONS = ["env", "timeoutMs", "signal", "replicas", "onProgress"] as const;

/** Checks a start of any provider. @throws ConfigError with the allowed values. */
export function checkSpec(provider: string, spec: StartSpec): void {
  const where = `The ${provider} provider`;
  rejectUnknown(`A start with ${where.toLowerCase()}`, spec, [...SOURCES, ...OPTIONS]);
  const given = SOURCES.filter((source) => spec[source as keyof StartSpec] !== undefined);
  if (given.length !== 1) throw new ConfigError(`${where} needs exactly one of ${SOURCES.join(", ")}.`);
  const { timeoutMs, env = {} } = spec;
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) {
    throw new ConfigError(`timeoutMs must be from 1 to ${MAX_TIMER_MS} milliseconds, got ${timeoutMs}.`);
  }
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^=\0]+$/.test(name) || typeof value !== "string" || value.includes("\0")) {
      throw new ConfigError(
        `The variable ${JSON.stringify(name)} in env is not valid. Use a variable name and a string value.`,
      );
    }
  }
}

/** Checks the spec for a provider without replicas. @throws ConfigError when the spec has replicas. */
export function rejectReplicas(provider: string, spec: StartOptions): void {
  if (spec.replicas === undefined) return;
  throw new ConfigError(`The ${provider} provider has no replicas. Omit the option, or use swarmProvider().`);
}

/** Checks the number for a provider with replicas. @throws ConfigError with the allowed range. */
export function checkReplicas(replicas: number, least: number, most: number): void {
  if (Number.isInteger(replicas) && replicas >= least && replicas <= most) return;
  throw new ConfigError(`replicas must be an integer from ${least} to ${most}, got ${replicas}.`);
}

/** Refuses a source that the provider cannot start. @throws ConfigError with what it starts, and `instead`. */
export function rejectSource(provider: string, takes: string, instead: string): never {
  throw new ConfigError(`The ${provider} provider starts ${takes}; ${instead}.`);
}
