/** The topologies that tests render: one for each kind of file. */
import { renderTarget } from "../../packages/deploy/src/render.js";
import type { DeployTarget, RenderedFiles } from "../../packages/deploy/src/targets.js";
import { parseTopology, type TopologyInput } from "../../packages/deploy/src/topology.js";

export const BACKENDS = ["127.0.0.1:8001", "127.0.0.1:8002"];
export const IMAGE = {
  name: "echo",
  image: "registry.example.org/echo:1.0",
  nodes: 3,
  workers: 2,
  capacity: 250,
} as const;
const GPU = { resources: { cpus: 4, memoryMb: 8192, gpus: 1 }, runtimeClass: "nvidia" } as const;
const EVERYTHING: TopologyInput = {
  ...IMAGE,
  ...GPU,
  spareNodes: 1,
  maxNodes: 12,
  ingressHost: "echo.example.org",
  nodeSelector: { pool: "gpu" },
  tolerations: [
    { key: "nvidia.com/gpu", effect: "NoSchedule" },
    { key: "team", value: "rl" },
  ],
  variables: { LOG_LEVEL: "off", GREETING: "it's: #1" },
  graceSeconds: 60,
  balancer: { metricsPort: 9902 },
};

export interface Case {
  target: DeployTarget;
  topology: TopologyInput;
  backends?: string[];
}

export const CASES: Record<string, Case> = {
  haproxy: { target: "haproxy", topology: IMAGE, backends: BACKENDS },
  envoy: { target: "envoy", topology: IMAGE, backends: BACKENDS },
  "envoy-name": { target: "envoy", topology: IMAGE, backends: ["env.internal:8000"] },
  compose: { target: "compose", topology: IMAGE },
  "compose-journal": { target: "compose", topology: { ...IMAGE, journal: "redis" } },
  "compose-envoy": { target: "compose", topology: { ...IMAGE, ...GPU, balancer: { kind: "envoy" } } },
  "compose-build": {
    target: "compose",
    topology: { name: "echo", directory: "./echo", nodes: 2, balancer: { port: 9080 } },
  },
  swarm: { target: "swarm", topology: { ...IMAGE, ...GPU, nodeSelector: { pool: "gpu" }, runtimeClass: undefined } },
  "swarm-journal": { target: "swarm", topology: { ...IMAGE, journal: "redis" } },
  "swarm-envoy": { target: "swarm", topology: { ...IMAGE, balancer: { kind: "envoy" } } },
  kubernetes: { target: "kubernetes", topology: EVERYTHING },
  "kubernetes-journal": { target: "kubernetes", topology: { image: "echo:1", journal: "redis" } },
  "kubernetes-file": {
    target: "kubernetes",
    topology: {
      image: "echo:1",
      variables: { JOURNAL: "/var/lib/openenv/sessions.db" },
      writable: ["/app/data"],
      egress: "none",
    },
  },
  "kubernetes-small": { target: "kubernetes", topology: { image: "echo:1" } },
  "slurm-one": {
    target: "slurm",
    topology: { name: "echo", directory: "./echo", workers: 2, resources: { memoryMb: 512 } },
  },
  "slurm-many": {
    target: "slurm",
    topology: { name: "echo", directory: "./echo", nodes: 2, resources: { memoryMb: 512 }, slurm: { minutes: 10 } },
  },
  "slurm-envoy": {
    target: "slurm",
    topology: {
      ...IMAGE,
      nodes: 2,
      balancer: { kind: "envoy", metricsPort: 9902 },
      resources: { memoryMb: 512, cpus: 2 },
    },
  },
  "slurm-gpu": { target: "slurm", topology: { image: "echo:1", resources: { memoryMb: 512, gpus: 1 } } },
  monitoring: { target: "monitoring", topology: { ...IMAGE, balancer: { metricsPort: 9902 } } },
  "monitoring-backends": {
    target: "monitoring",
    topology: { ...IMAGE, journal: "redis", balancer: { metricsPort: 9902 } },
    backends: BACKENDS,
  },
};

export function render({ target, topology, backends }: Case): RenderedFiles {
  return renderTarget(target, parseTopology(topology), backends);
}
