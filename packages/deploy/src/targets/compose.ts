import { ConfigError } from "openenv-ts/internal";
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
  proxyNote,
  rejectHost,
  SERVICE_DEFAULTS,
  serverVariables,
  stopSeconds,
  tokenVariables,
} from "./container.js";

/** `compose.yaml` with N servers, and what the balancer before them reads. */
export function renderCompose(topology: Topology): RenderedFiles {
  const { name, balancer, directory, image, nodeSelector, tolerations } = topology;
  if (image === undefined && directory === undefined) {
    throw new ConfigError("Compose needs an image, or a directory with a Dockerfile: add image or directory.");
  }
  if (Object.keys(nodeSelector).length > 0 || tolerations.length > 0) {
    throw new ConfigError("Compose starts everything on one machine: leave nodeSelector and tolerations out.");
  }
  rejectHost("Compose", topology);
  const kind = balancer.kind ?? "haproxy";
  const nodes = mostNodes(topology);
  const connections = totalLimit(topology, nodes);
  const files = countDescriptors(connections);
  const raise = describeRaise(files);
  const ports = `${balancer.port}:${balancer.port}`;
  const renderConfig = kind === "envoy" ? renderEnvoy : renderHaproxy;
  const given = balancerFiles(kind, renderConfig(topology, { discovery: { name: "env" } }));
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
        depends_on: ["env"],
      },
      env: { ...server(topology), scale: nodes },
    },
  };
  return { "compose.yaml": renderYaml(compose), ...textsOf(given) };
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
