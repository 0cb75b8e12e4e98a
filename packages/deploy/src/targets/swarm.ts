import { ConfigError } from "openenv-ts/internal";
import { balancerEntrypoint, balancerFiles, textsOf } from "../balancers/balancer-files.js";
import { renderEnvoy } from "../balancers/envoy.js";
import { renderHaproxy } from "../balancers/haproxy.js";
import { mostNodes, totalLimit } from "../limits.js";
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

/** A stack for `docker stack deploy`, and what its balancer reads. */
export function renderSwarm(topology: Topology): RenderedFiles {
  const { image, balancer, nodeSelector, resources, runtimeClass, tolerations } = topology;
  const kind = balancer.kind ?? "haproxy";
  if (image === undefined) {
    throw new ConfigError(
      "A swarm needs an image that its nodes can pull: build and push the directory, then name it.",
    );
  }
  if (tolerations.length > 0) throw new ConfigError("A swarm has no tolerations: leave them out.");
  if (runtimeClass !== undefined) {
    throw new ConfigError("A swarm has one runtime, that of its nodes: leave runtimeClass out, and set it there.");
  }
  const bare = Object.keys(nodeSelector).find((key) => nodeSelector[key] === "");
  if (bare !== undefined) throw new ConfigError(`A swarm compares labels with a value: give ${bare} one.`);
  rejectHost("A swarm", topology);
  const limits = { cpus: String(resources.cpus), memory: `${resources.memoryMb}M` };
  const renderConfig = kind === "envoy" ? renderEnvoy : renderHaproxy;
  const files = balancerFiles(kind, renderConfig(topology, { discovery: { name: "tasks.env" } }));
  // What a config says cannot be changed: another text needs another name.
  const configs = files.map(({ file, target, text }) => ({ source: `balancer-${fingerprint(text)}`, target, file }));
  const stack = {
    version: "3.8",
    services: {
      balancer: {
        image: BALANCER_IMAGES[kind],
        ...SERVICE_DEFAULTS,
        "# On the node it runs on, without the mesh between: one hop less, and the clients' own addresses.": null,
        [`# ${proxyNote(totalLimit(topology, mostNodes(topology)))}`]: null,
        ports: [{ target: balancer.port, published: balancer.port, protocol: "tcp", mode: "host" }],
        ...balancerEntrypoint(kind),
        configs: configs.map(({ source, target }) => ({ source, target })),
        networks: ["inner"],
        "# It ends with the last socket that goes through it, which may take as long as for the servers.": null,
        stop_grace_period: `${stopSeconds(topology)}s`,
        deploy: { replicas: 1, restart_policy: { condition: "any" } },
      },
      env: {
        image,
        ...SERVICE_DEFAULTS,
        environment: { ...serverVariables(topology), ...tokenVariables() },
        networks: ["inner"],
        stop_grace_period: `${stopSeconds(topology)}s`,
        healthcheck: healthcheck(topology),
        deploy: {
          replicas: mostNodes(topology),
          "# The balancer learns each server's address: behind one virtual address it could not tell them apart.": null,
          endpoint_mode: "dnsrr",
          "# A new server before an old one drains, and time for the balancer to find it before the next; one that does not become healthy is taken back.":
            null,
          update_config: { parallelism: 1, order: "start-first", delay: "10s", failure_action: "rollback" },
          restart_policy: { condition: "any" },
          placement: {
            constraints: Object.entries(nodeSelector).map(([key, value]) => `node.labels.${key} == ${value}`),
          },
          resources: {
            limits,
            reservations: {
              ...limits,
              ...(resources.gpus > 0 && {
                generic_resources: [{ discrete_resource_spec: { kind: "NVIDIA-GPU", value: resources.gpus } }],
              }),
            },
          },
        },
      },
    },
    networks: { inner: { driver: "overlay" } },
    configs: Object.fromEntries(configs.map(({ source, file }) => [source, { file: `./${file}` }])),
  };
  return { "stack.yaml": renderYaml(stack), ...textsOf(files) };
}
