import { ConfigError, ProviderError } from "openenv-ts";
import { isObject } from "openenv-ts/internal";
import type { StartContext } from "../lifecycle/start-context.js";
import { type Engine, EngineError } from "./engine.js";
import { registryAuth } from "./registry-auth.js";

/** The configuration of an image, as far as we use it. */
export interface ImageConfig {
  /** TCP ports that the image exposes. */
  exposed: readonly number[];
  /** Its environment variables. */
  env: Readonly<Record<string, string>>;
  /** Its HEALTHCHECK; undefined for none. */
  healthcheck: Healthcheck | undefined;
}

/** Nanoseconds; undefined or 0 for the engine's default. */
export interface Healthcheck {
  Interval?: number;
  StartPeriod?: number;
  /** Consecutive failures; undefined or 0 for the engine's default. */
  Retries?: number;
}

/** Returns the name, which becomes part of a path. @throws ConfigError for an invalid name. */
export function checkImage(image: string): string {
  if (/^[a-z0-9][\w.:/@-]*$/i.test(image) && !image.includes("..")) return image;
  throw new ConfigError(`${JSON.stringify(image)} is not a valid image name. Use a name such as node:24-slim.`);
}

/**
 * Reads the image's configuration; pulls the image when it is missing, or always with `pull: "always"`.
 * @throws ProviderError SOURCE_NOT_FOUND.
 */
export async function obtainImage(
  engine: Engine,
  image: string,
  {
    pull,
    platform,
    start,
  }: { pull: "missing" | "always" | "never"; platform: string | undefined; start: StartContext },
): Promise<ImageConfig> {
  if (pull !== "always") {
    const found = await inspect(engine, image, start.signal);
    if (found) return found;
    if (pull === "never") throw notFound(image, "the engine does not have it, and `pull` is never");
  }
  await fetchImage(engine, image, { platform, start });
  const fetched = await inspect(engine, image, start.signal);
  if (!fetched) throw notFound(image, "it was pulled, but the engine does not have it");
  return fetched;
}

async function inspect(engine: Engine, image: string, signal: AbortSignal): Promise<ImageConfig | undefined> {
  try {
    const { Config: config } = await engine.ask<ImageBody>("GET", `/images/${image}/json`, { signal });
    const ports = Object.keys(config?.ExposedPorts ?? {}).filter((port) => !/\/(udp|sctp)$/.test(port));
    const env = (config?.Env ?? []).map((entry) => entry.split(/=(.*)/s).slice(0, 2) as [string, string]);
    const { Test: test = [], ...healthcheck } = config?.Healthcheck ?? {};
    return {
      exposed: ports.map((port) => Number.parseInt(port, 10)),
      env: Object.fromEntries(env),
      healthcheck: (test?.[0] ?? "NONE") === "NONE" ? undefined : healthcheck,
    };
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return undefined;
    if (error instanceof EngineError) throw notFound(image, error.message);
    throw error;
  }
}

interface ImageBody {
  Config?: {
    ExposedPorts?: Record<string, unknown> | null;
    Env?: string[] | null;
    Healthcheck?: (Healthcheck & { Test?: string[] | null }) | null;
  } | null;
}

async function fetchImage(
  engine: Engine,
  image: string,
  { platform, start }: { platform: string | undefined; start: StartContext },
): Promise<void> {
  const { name, tag } = splitImage(image);
  start.progress(`pulling ${image}`);
  const auth = await registryAuth(image, process.env);
  const call = {
    query: { fromImage: name, tag, platform },
    headers: auth === undefined ? {} : { "x-registry-auth": auth },
    signal: start.signal,
  };
  const layers = new Map<string, { current: number; total: number }>();
  try {
    for await (const line of engine.lines("POST", "/images/create", call)) {
      if (typeof line["error"] === "string") throw notFound(image, line["error"]);
      const { id, progressDetail: detail } = line;
      if (!isObject(detail) || typeof detail["total"] !== "number") continue;
      layers.set(String(id), { current: Number(detail["current"]), total: detail["total"] });
      start.progress(`pulling ${image}, ${describeProgress([...layers.values()])}`);
    }
  } catch (error) {
    throw error instanceof EngineError ? notFound(image, error.message) : error;
  }
}

function describeProgress(layers: readonly { current: number; total: number }[]): string {
  const sum = (key: "current" | "total"): string =>
    (layers.reduce((bytes, layer) => bytes + layer[key], 0) / 1e6).toFixed(1);
  return `${sum("current")} of ${sum("total")} MB`;
}

/** Without a tag, an engine would pull every tag. */
function splitImage(image: string): { name: string; tag: string | undefined } {
  if (image.includes("@")) return { name: image, tag: undefined };
  const [, name = image, tag = "latest"] = /^(.*?)(?::([^/:]+))?$/.exec(image) ?? [];
  return { name, tag };
}

function notFound(image: string, why: string): ProviderError {
  return new ProviderError(
    "SOURCE_NOT_FOUND",
    `Image ${image} is not available: ${why}. Build it (\`openenv build -t ${image}\`), or check its name and \`docker login\`.`,
  );
}
