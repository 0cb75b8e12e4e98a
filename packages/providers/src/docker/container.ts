import { randomBytes } from "node:crypto";
import type { StartOptions } from "../provider.js";
import type { ImageConfig } from "./image.js";
import { renderLabels } from "./labels.js";
import type { ContainerSettings } from "./options.js";

/** Where a server listens that says nothing about it. */
const USUAL_PORTS = [8000, 7860];
const MAX_PORTS = 8;
/** A log that is never read must not fill the disk; and it can be read back, whatever the engine's default is. */
const LOG_CONFIG = { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } };

/**
 * The ports inside the container at which its server may listen, the likeliest first: the one that was named, else `PORT`
 * and what the image exposes; and 8000 and 7860 unless one of them is among these. Each that is published costs time.
 */
export function portCandidates(
  { containerPort, port = 0 }: Pick<ContainerSettings, "containerPort"> & { port?: number },
  image: ImageConfig,
  env: StartOptions["env"],
): number[] {
  if (containerPort !== undefined) return [containerPort];
  const named = Number(env?.["PORT"] ?? image.env["PORT"]);
  const told = [...(named > 0 && named < 65_536 ? [named] : []), ...image.exposed];
  // The one port of the host that was asked for can only stand for one inside.
  const isClear = port > 0 && new Set(told).size === 1;
  const all = isClear || told.some((one) => USUAL_PORTS.includes(one)) ? told : [...told, ...USUAL_PORTS];
  return [...new Set(all)].slice(0, MAX_PORTS);
}

/** `openenv-<image>-<random>`, as a name that an engine takes. */
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
      // A first process that reaps: not every image has one.
      Init: true,
      ...settings.host,
    },
  };
}
