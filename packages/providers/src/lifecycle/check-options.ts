import { ConfigError, MAX_TIMER_MS } from "openenv-ts/internal";
import type { StartOptions, StartSpec } from "../provider.js";

/**
 * Refuses what an options object has beside the names it may have: a misspelt limit must not start without it.
 * @throws ConfigError that names the option and those there are.
 */
export function rejectUnknown(where: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const list = known.length > 0 ? `it has ${known.join(", ")}` : "it has none";
  throw new ConfigError(`${where} has no option ${unknown.map((name) => `"${name}"`).join(", ")}; ${list}.`);
}

const SOURCES = ["image", "directory", "git"] as const;
const OPTIONS = ["env", "timeoutMs", "signal", "replicas", "onProgress"] as const;

/** What any start must be, whatever the provider. @throws ConfigError that says what is allowed. */
export function checkSpec(provider: string, spec: StartSpec): void {
  const where = `The ${provider} provider`;
  rejectUnknown(`A start with ${where.toLowerCase()}`, spec, [...SOURCES, ...OPTIONS]);
  const given = SOURCES.filter((source) => spec[source as keyof StartSpec] !== undefined);
  if (given.length !== 1) throw new ConfigError(`${where} starts one thing: give one of ${SOURCES.join(", ")}.`);
  const { timeoutMs, env = {} } = spec;
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) {
    throw new ConfigError(`timeoutMs is ${timeoutMs}; give milliseconds from 1 to ${MAX_TIMER_MS}.`);
  }
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^=\0]+$/.test(name) || typeof value !== "string" || value.includes("\0")) {
      throw new ConfigError(`The variable ${JSON.stringify(name)} of env cannot be set; give a name and a text.`);
    }
  }
}

/** For a provider that starts one and no more. @throws ConfigError when the spec asks for replicas. */
export function rejectReplicas(provider: string, spec: StartOptions): void {
  if (spec.replicas === undefined) return;
  throw new ConfigError(
    `The ${provider} provider starts one environment and has no replicas; leave the option out, or use swarmProvider().`,
  );
}

/** For a provider that starts several. @throws ConfigError that says how many it starts. */
export function checkReplicas(replicas: number, least: number, most: number): void {
  if (Number.isInteger(replicas) && replicas >= least && replicas <= most) return;
  throw new ConfigError(`replicas must be an integer from ${least} to ${most}, got ${replicas}.`);
}

/** For a provider that cannot start this. @throws ConfigError that says what it starts, and `instead`. */
export function rejectSource(provider: string, takes: string, instead: string): never {
  throw new ConfigError(`The ${provider} provider starts ${takes}; ${instead}.`);
}
