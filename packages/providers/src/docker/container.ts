import { randomBytes } from "node:crypto";
import type { StartOptions } from "../provider.js";
import type { ImageConfig } from "./image.js";
import { renderLabels } from "./labels.js";
import type { ContainerSettings } from "./options.js";

/** The default ports of servers that name none. */
const USUAL_PORTS = [8000, 7860];
const MAX_PORTS = 8;
/** Limits the log on disk, and makes it readable whatever the engine's default driver is. */
const LOG_CONFIG = { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } };

/**
 * The ports inside the container that its server may listen on, likeliest first: the configured one, else `PORT` and
 * the ports that the image exposes; 8000 and 7860 unless one of them is in the list. Each published port costs time.
 */
export function portCandidates(
  { containerPort, port = 0 }: Pick<ContainerSettings, "containerPort"> & { port?: number },
  image: ImageConfig,
  env: StartOptions["env"],
): number[] {
  if (containerPort !== undefined) return [containerPort];
  const named = Number(env?.["PORT"] ?? image.env["PORT"]);
  const declared = [...(named > 0 && named < 65_536 ? [named] : []), ...image.exposed];
  // A fixed host port can map to only one container port.
  const isClear = port > 0 && new Set(declared).size === 1;
  const all = isClear || declared.some((one) => USUAL_PORTS.includes(one)) ? declared : [...declared, ...USUAL_PORTS];
  return [...new Set(all)].slice(0, MAX_PORTS);
}

/** `openenv-<image>-<random>`, a name that an engine accepts. */
export function containerName(image: string): string {
  const [base = ""] = (image.split("/").at(-1) ?? "").split(/[:@]/);
  return `openenv-${base.replaceAll(/[^\w.-]/g, "-").slice(0, 40)}-${randomBytes(4).toString("hex")}`;
}

export interface ContainerSpec {
  image: string;
  env: StartOptions["env"];
  ports: readonly number[];
  settings: ContainerSettings;
}

/** The body of `POST /containers/create`. */
export function renderContainer({ image, env = {}, ports, settings }: ContainerSpec): Record<string, unknown> {
  const published = settings.network === "host" ? [] : ports;
  const binding = { HostIp: settings.publishOn, HostPort: settings.port > 0 ? String(settings.port) : "" };
  return {
    Image: image,
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Labels: { ...settings.labels, ...renderLabels("docker", image) },
    ExposedPorts: Object.fromEntries(published.map((port) => [`${port}/tcp`, {}])),
    HostConfig: {
      PortBindings: Object.fromEntries(published.map((port) => [`${port}/tcp`, [binding]])),
      LogConfig: LOG_CONFIG,
      // Runs an init process that reaps zombies; not every image has one.
      Init: true,
      ...settings.host,
    },
  };
}
