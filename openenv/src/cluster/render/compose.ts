import { ConfigError } from "../../errors.js";
import type { Topology } from "../topology.js";
import { balancerEntrypoint, balancerFiles, textsOf } from "./balancer-files.js";
import {
  BALANCER_IMAGES,
  fingerprint,
  healthcheck,
  proxyNote,
  refuseHost,
  SERVICE_DEFAULTS,
  serverVariables,
  stopSeconds,
  tokenVariables,
} from "./container.js";
import { renderEnvoy } from "./envoy.js";
import { renderHaproxy } from "./haproxy.js";
import { countDescriptors, describeRaise, mostNodes, totalLimit } from "./limits.js";
import { renderNginx } from "./nginx.js";
import type { Balancer, RenderedFiles } from "./targets.js";
import { renderYaml } from "./yaml.js";

/** A network of its own for nginx, which needs to know the servers' addresses; the balancer has the second. */
const SUBNET = "10.213.0";
const MOST_ADDRESSES = 200;

/** `compose.yaml` with N servers, and what the balancer before them reads. */
export function renderCompose(topology: Topology): RenderedFiles {
  const { name, balancer, directory, image, nodeSelector, tolerations } = topology;
  if (image === undefined && directory === undefined) {
    throw new ConfigError("Compose needs an image, or a directory with a Dockerfile: add image or directory.");
  }
  if (Object.keys(nodeSelector).length > 0 || tolerations.length > 0) {
    throw new ConfigError("Compose starts everything on one machine: leave nodeSelector and tolerations out.");
  }
  refuseHost("Compose", topology);
  const kind = balancer.kind ?? "haproxy";
  const nodes = mostNodes(topology);
  const connections = totalLimit(topology, nodes);
  const files = countDescriptors(connections);
  const raise = describeRaise(files);
  const ports = `${balancer.port}:${balancer.port}`;
  const given = balancerFiles(kind, renderConfig(topology, kind, nodes));
  const compose = {
    name,
    services: {
      balancer: {
        image: BALANCER_IMAGES[kind],
        ...SERVICE_DEFAULTS,
        restart: "unless-stopped",
        [`# Only this machine; "${ports}" without the address is for everybody.`]: null,
        [`# ${proxyNote(connections)}`]: null,
        ports: [`127.0.0.1:${ports}`],
        "# Another file is another balancer: Compose does not look into it.": null,
        labels: { "openenv.config": fingerprint(given.map(({ text }) => text).join("")) },
        ...balancerEntrypoint(kind),
        volumes: given.map(({ file, target }) => `./${file}:${target}:ro`),
        ...(raise !== undefined && { [`# ${raise}`]: null }),
        ulimits: { nofile: files },
        "# It ends with the last socket that goes through it, which may take as long as for the servers.": null,
        stop_grace_period: `${stopSeconds(topology)}s`,
        depends_on: kind === "nginx" ? serverNames(nodes) : ["env"],
        ...(kind === "nginx" && { networks: { default: { ipv4_address: `${SUBNET}.2` } } }),
      },
      ...(kind === "nginx" ? numberedServers(topology, nodes) : { env: { ...server(topology), scale: nodes } }),
    },
    ...(kind === "nginx" && {
      "# nginx tells the servers of sessions apart by address.": null,
      networks: { default: { ipam: { config: [{ subnet: `${SUBNET}.0/24` }] } } },
    }),
  };
  return { "compose.yaml": renderYaml(compose), ...textsOf(given) };
}

function renderConfig(topology: Topology, kind: Balancer, nodes: number): string {
  // Inside the container every address is right: which of the machine's it has, Compose says.
  const inside = { ...topology, balancer: { ...topology.balancer, host: "0.0.0.0" } };
  if (kind === "haproxy") return renderHaproxy(inside, { discovery: { name: "env" } });
  if (kind === "envoy") return renderEnvoy(inside, { discovery: { name: "env" } });
  if (nodes > MOST_ADDRESSES) {
    throw new ConfigError(
      `Compose with nginx has at most ${MOST_ADDRESSES} servers: take haproxy or envoy as balancer.`,
    );
  }
  return renderNginx(
    inside,
    Array.from({ length: nodes }, (_, index) => ({ host: address(index), port: topology.port })),
  );
}

function numberedServers(topology: Topology, nodes: number): Record<string, object> {
  return Object.fromEntries(
    serverNames(nodes).map((name, index) => [
      name,
      { ...server(topology), networks: { default: { ipv4_address: address(index) } } },
    ]),
  );
}

function server(topology: Topology): object {
  const { directory, dockerfile, image, resources, runtimeClass } = topology;
  const { cpus, memoryMb, gpus } = resources;
  return {
    ...(image === undefined ? { build: { context: directory, dockerfile } } : { image }),
    ...SERVICE_DEFAULTS,
    restart: "unless-stopped",
    environment: { ...serverVariables(topology), ...tokenVariables() },
    "# Sessions get their time before a server is killed.": null,
    stop_grace_period: `${stopSeconds(topology)}s`,
    healthcheck: healthcheck(topology),
    ...(runtimeClass !== undefined && { runtime: runtimeClass }),
    deploy: {
      resources: {
        limits: { cpus: String(cpus), memory: `${memoryMb}M` },
        ...(gpus > 0 && {
          reservations: { devices: [{ driver: "nvidia", count: gpus, capabilities: ["gpu"] }] },
        }),
      },
    },
  };
}

function serverNames(nodes: number): string[] {
  return Array.from({ length: nodes }, (_, index) => `env-${index + 1}`);
}

function address(index: number): string {
  return `${SUBNET}.${index + 11}`;
}
