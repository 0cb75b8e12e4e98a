import { expect, test } from "vitest";
import { nodeCapacity, parseBackend, parseTopology } from "./topology.js";

test("omitted keys have defaults", () => {
  const topology = parseTopology({});
  expect(topology).toMatchObject({ name: "openenv", nodes: 1, workers: 1, capacity: 100, spareNodes: 0, port: 8000 });
  expect(topology.balancer).toEqual({ port: 8080, host: "0.0.0.0" });
  expect(topology.resources).toEqual({ cpus: 1, memoryMb: 1024, gpus: 0 });
});

test("a node holds the sessions of all its workers", () => {
  expect(nodeCapacity(parseTopology({ workers: 4, capacity: 250 }))).toBe(1000);
});

test("all errors are reported at once, each with its key", () => {
  const given = { nodes: 0, workers: 1.5, balancer: { kind: "apache" }, nodez: 3, resources: { gpus: -1 } };
  const wrong = () => parseTopology(given);
  for (const part of [
    /nodes: must be at least 1/,
    /workers: /,
    /balancer\.kind: must be one of envoy/,
    /nodez/,
    /resources\.gpus/,
  ]) {
    expect(wrong).toThrow(part);
  }
  expect(wrong).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
});

test.each([
  [{ image: "a:1", directory: "./a" }, /not both/],
  [{ backends: ["10.0.0.5"] }, /backends\.0: must be host:port, such as 10\.0\.0\.5:8000/],
  [{ nodes: 4, spareNodes: 2, maxNodes: 5 }, /maxNodes: must be at least nodes plus spareNodes, which is 6/],
  [{ variables: { OPENENV_OPERATOR_TOKEN: "x" } }, /looks like a secret/],
  [{ variables: { PRIVATE_KEY: "x" } }, /PRIVATE_KEY looks like a secret/],
  [{ variables: { SEARCH: "https://u:pw@host" } }, /SEARCH is a URL with a password: use the secrets of the target/],
  [{ variables: { JOURNAL: "redis://:pw@host" } }, /JOURNAL is a URL with a password: use the key journal: "secret"/],
  [{ variables: { PORT: "9000" } }, /PORT is set by port/],
  [{ variables: { WORKERS: "2" } }, /WORKERS is set by workers/],
  [{ variables: { MAX_CONCURRENT_ENVS: "2" } }, /MAX_CONCURRENT_ENVS is set by capacity/],
  [{ variables: { SHUTDOWN_DRAIN: "2" } }, /SHUTDOWN_DRAIN is set by graceSeconds/],
  [{ nodeSelector: { pool: "gpu-" } }, /nodeSelector\.pool: must be empty, or at most 63/],
  [{ nodeSelector: { "pool-": "gpu" } }, /nodeSelector\.pool-: /],
  [7, /the topology: /],
  [{ node: 4 }, /unknown key "node" \(did you mean nodes\?\)/],
  [{ resources: { cpu: 4 } }, /resources: unknown key "cpu" \(did you mean cpus\?\)/],
  [{ balancer: { kind: "nginx" } }, /balancer\.kind: must be one of envoy, haproxy\.$/],
  [
    { balancer: { colour: "red" } },
    /balancer: unknown key "colour" \(the keys are kind, port, host, metricsPort, adminPort\)/,
  ],
])("%j is rejected", (given, message) => {
  expect(() => parseTopology(given)).toThrow(message);
});

test.each([
  { name: "a; rm -rf" },
  { name: "a\nb" },
  { image: "a:1\n  privileged: true" },
  { image: "$(reboot)" },
  { directory: "./a b" },
  { directory: "-rf" },
  { directory: "`reboot`" },
  { variables: { A: "x\ny" } },
  { variables: { A: "$HOME" } },
  { variables: { "A B": "x" } },
  { nodeSelector: { constraint: "a b" } },
  { slurm: { partition: "a\n#SBATCH --uid=0" } },
  { balancer: { host: "0.0.0.0:1; x" } },
  { ingressHost: "a.example/\n" },
])("%j cannot inject a line into a file", (given) => {
  expect(() => parseTopology(given)).toThrow("The topology is not valid");
});

test("labels and variables that are valid in Kubernetes are accepted", () => {
  const given = {
    nodeSelector: { "node-role.kubernetes.io/worker": "", pool: "a.b_c-1" },
    tolerations: [{ key: "dedicated", value: "" }],
    variables: { TOKENIZERS_PARALLELISM: "false", MAX_TOKENS: "1024" },
  };
  expect(parseTopology(given)).toMatchObject(given);
});

test("a backend is an address or a name with a port", () => {
  expect(parseBackend("10.0.0.5:8000")).toEqual({ host: "10.0.0.5", port: 8000 });
  expect(parseBackend("[::1]:8000")).toEqual({ host: "[::1]", port: 8000 });
  for (const wrong of ["", "env", "env:0", "env:70000", "http://env:8000", "a b:1", "a;b:1", "env:80\n80"]) {
    expect(() => parseBackend(wrong)).toThrow("must be host:port");
  }
});
