import { ConfigError } from "openenv-ts";
import { balancerEntrypoint, balancerFiles, textsOf } from "../balancers/balancer-files.js";
import { renderEnvoy } from "../balancers/envoy.js";
import { renderHaproxy } from "../balancers/haproxy.js";
import { countDescriptors, describeRaise, mostNodes, totalLimit } from "../limits.js";
import type { RenderedFiles } from "../targets.js";
import type { Topology } from "../topology.js";
import { renderYaml } from "../yaml.js";
import {
  BALANCER_IMAGES,
  fingerprint,
  healthcheck,
  NO_NEW_RIGHTS,
  proxyNote,
  redisService,
  rejectHost,
  SERVICE_DEFAULTS,
  serverVariables,
  stopSeconds,
  tokenVariables,
} from "./container.js";

/** `compose.yaml` with N servers, and the files of their balancer. */
export function renderCompose(topology: Topology): RenderedFiles {
  const { name, balancer, directory, image, nodeSelector, tolerations } = topology;
  if (image === undefined && directory === undefined) {
    throw new ConfigError("Compose needs an image, or a directory with a Dockerfile: add image or directory.");
  }
  if (Object.keys(nodeSelector).length > 0 || tolerations.length > 0) {
    throw new ConfigError("Compose starts everything on one machine: remove nodeSelector and tolerations.");
  }
  rejectHost("Compose", topology);
  const kind = balancer.kind ?? "haproxy";
  const nodes = mostNodes(topology);
  const connections = totalLimit(topology, nodes);
  const files = countDescriptors(connections);
  const raise = describeRaise(files);
  const ports = `${balancer.port}:${balancer.port}`;
  const renderConfig = kind === "envoy" ? renderEnvoy : renderHaproxy;
  const given = balancerFiles(kind, balancer, renderConfig(topology, { discovery: { name: "env" } }));
  const isBrought = topology.journal === "redis";
  const compose = {
    name,
    services: {
      balancer: {
        image: BALANCER_IMAGES[kind],
        ...SERVICE_DEFAULTS,
        ...NO_NEW_RIGHTS,
        restart: "unless-stopped",
        [`# Reachable only from this machine; use "${ports}" to allow other machines.`]: null,
        [`# ${proxyNote(connections)}`]: null,
        ports: [`127.0.0.1:${ports}`],
        "# The hash of the file: Compose does not notice changes of its content.": null,
        labels: { "openenv.config": fingerprint(given.map(({ text }) => text).join("")) },
        ...balancerEntrypoint(kind),
        volumes: given.map(({ file, target }) => `./${file}:${target}:ro`),
        ...(raise !== undefined && { [`# ${raise}`]: null }),
        ulimits: { nofile: files },
        "# The balancer exits with its last socket, so it gets the same grace period as the servers.": null,
        stop_grace_period: `${stopSeconds(topology)}s`,
        depends_on: ["env"],
      },
      env: { ...server(topology), scale: nodes },
      ...(isBrought && { journal: { ...redisService(), ...NO_NEW_RIGHTS, restart: "unless-stopped" } }),
    },
    ...(isBrought && { volumes: { journal: {} } }),
  };
  return { "compose.yaml": renderYaml(compose), ...textsOf(given) };
}

function server(topology: Topology): object {
  const { directory, dockerfile, image, resources, runtimeClass } = topology;
  const { cpus, memoryMb, gpus } = resources;
  return {
    ...(image === undefined ? { build: { context: directory, dockerfile } } : { image }),
    ...SERVICE_DEFAULTS,
    ...NO_NEW_RIGHTS,
    restart: "unless-stopped",
    environment: { ...serverVariables(topology), ...tokenVariables(topology) },
    ...(topology.journal === "redis" && { depends_on: ["journal"] }),
    "# Sessions get time to finish before a server is killed.": null,
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
