import { ConfigError } from "openenv-ts";
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
  redisService,
  rejectHost,
  SERVICE_DEFAULTS,
  serverVariables,
  stopSeconds,
  tokenVariables,
} from "./container.js";

/** A stack for `docker stack deploy`, and the files of its balancer. */
export function renderSwarm(topology: Topology): RenderedFiles {
  const { image, balancer, nodeSelector, resources, runtimeClass, tolerations } = topology;
  const kind = balancer.kind ?? "haproxy";
  if (image === undefined) {
    throw new ConfigError(
      "A swarm needs an image that its nodes can pull: build and push the directory, then set image.",
    );
  }
  if (tolerations.length > 0) throw new ConfigError("A swarm does not support tolerations: remove them.");
  if (runtimeClass !== undefined) {
    throw new ConfigError(
      "A swarm uses the runtime of its nodes: remove runtimeClass, and set the default runtime of the engines.",
    );
  }
  const bare = Object.keys(nodeSelector).find((key) => nodeSelector[key] === "");
  if (bare !== undefined) throw new ConfigError(`A swarm needs a value for each node label: give ${bare} a value.`);
  rejectHost("A swarm", topology);
  const limits = { cpus: String(resources.cpus), memory: `${resources.memoryMb}M` };
  const renderConfig = kind === "envoy" ? renderEnvoy : renderHaproxy;
  const files = balancerFiles(kind, balancer, renderConfig(topology, { discovery: { name: "tasks.env" } }));
  // A swarm config is immutable, so changed content needs a new name.
  const configs = files.map(({ file, target, text }) => ({ source: `balancer-${fingerprint(text)}`, target, file }));
  const stack = {
    version: "3.8",
    services: {
      balancer: {
        image: BALANCER_IMAGES[kind],
        ...SERVICE_DEFAULTS,
        "# On its own node, without the routing mesh: one hop less, and the server sees the clients' addresses.": null,
        [`# ${proxyNote(totalLimit(topology, mostNodes(topology)))}`]: null,
        ports: [{ target: balancer.port, published: balancer.port, protocol: "tcp", mode: "host" }],
        ...balancerEntrypoint(kind),
        configs: configs.map(({ source, target }) => ({ source, target })),
        networks: ["inner"],
        "# The balancer exits with its last socket, so it gets the same grace period as the servers.": null,
        stop_grace_period: `${stopSeconds(topology)}s`,
        deploy: { replicas: 1, restart_policy: { condition: "any" } },
      },
      env: {
        image,
        ...SERVICE_DEFAULTS,
        environment: { ...serverVariables(topology), ...tokenVariables(topology) },
        networks: ["inner"],
        stop_grace_period: `${stopSeconds(topology)}s`,
        healthcheck: healthcheck(topology),
        deploy: {
          replicas: mostNodes(topology),
          "# DNS returns the address of each server; behind one virtual address the balancer could not distinguish them.":
            null,
          endpoint_mode: "dnsrr",
          "# Starts a new server before an old one drains, with time for the balancer to find it. A server that does not become healthy is rolled back.":
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
      ...(topology.journal === "redis" && { journal: journal() }),
    },
    networks: { inner: { driver: "overlay" } },
    ...(topology.journal === "redis" && { volumes: { journal: {} } }),
    configs: Object.fromEntries(configs.map(({ source, file }) => [source, { file: `./${file}` }])),
  };
  return { "stack.yaml": renderYaml(stack), ...textsOf(files) };
}

/** The volume is on one node, so that the Redis must stay there. */
function journal(): object {
  return {
    ...redisService(),
    networks: ["inner"],
    "# Its volume is on one node. Add the label there: docker node update --label-add openenv.journal=true <node>":
      null,
    deploy: {
      replicas: 1,
      restart_policy: { condition: "any" },
      placement: { constraints: ["node.labels.openenv.journal == true"] },
    },
  };
}
