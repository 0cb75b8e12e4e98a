import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parseAllDocuments, parseDocument } from "yaml";
import { BACKENDS, CASES, type Case, IMAGE, render } from "../../../test-support/deploy/render-cases.js";
import { METRICS } from "../../openenv/src/server/metrics/metrics.js";
import type { TopologyInput } from "./topology.js";

describe.each(Object.entries(CASES))("%s", (name, given) => {
  test("matches its fixture", async () => {
    for (const [file, text] of Object.entries(render(given))) {
      await expect(text).toMatchFileSnapshot(`fixtures/${name}/${file}`);
    }
  });
});

test.each(["compose", "swarm"] as const)("%s replaces the balancer when its configuration changes", (target) => {
  const named = (capacity: number): string | undefined => {
    const text = Object.values(render({ target, topology: { ...IMAGE, capacity } }))[0] ?? "";
    return /(?:openenv\.config: |source: balancer-)"?(\w+)/.exec(text)?.[1];
  };
  expect(named(250)).toMatch(/^[0-9a-f]{12}$/);
  expect(named(250)).toBe(named(250));
  expect(named(250)).not.toBe(named(251));
});

test.each(["compose", "compose-build", "swarm", "kubernetes", "slurm-one", "slurm-many"])(
  "%s kills nothing before the grace period of sessions and five seconds to close have passed",
  (name) => {
    const { target, topology } = CASES[name] as Case;
    const text = Object.values(render({ target, topology: { ...topology, graceSeconds: 77 } })).join("\n");
    // In Kubernetes a server first waits five seconds until the cluster has removed its endpoint.
    const stop = target === "kubernetes" ? 87 : 82;
    const found = [...text.matchAll(/(?:stop_grace_period: |terminationGracePeriodSeconds: |TERM@)(\d+)/g)];
    expect(found.length).toBeGreaterThan(0);
    expect(found.map(([, seconds]) => Number(seconds))).toEqual(found.map(() => stop));
    expect(text).toMatch(/SHUTDOWN_DRAIN(=|: |\n +value: )"?77"?\n/);
    expect(text).toMatch(/SHUTDOWN_GRACE(=|: |\n +value: )"?3"?\n/);
  },
);

test.each(["compose", "compose-envoy", "compose-build", "swarm", "swarm-envoy"])(
  "every service of %s has an init process and a limited log",
  (name) => {
    const [text = ""] = Object.values(render(CASES[name] as Case));
    const services: Record<string, object>[] = Object.values(parseDocument(text).toJS().services);
    expect(services.length).toBeGreaterThan(1);
    for (const { init, logging } of services) {
      expect([init, logging]).toEqual([true, { driver: "json-file", options: { "max-size": "10m", "max-file": "5" } }]);
    }
  },
);

test.each(["compose", "compose-envoy", "compose-build", "compose-journal", "swarm", "swarm-envoy", "swarm-journal"])(
  "no service of %s has a capability",
  (name) => {
    const [text = ""] = Object.values(render(CASES[name] as Case));
    const services: Record<string, object>[] = Object.values(parseDocument(text).toJS().services);
    for (const { cap_drop, security_opt } of services) {
      expect(cap_drop).toEqual(["ALL"]);
      // A swarm ignores the option.
      if (name.startsWith("compose")) expect(security_opt).toEqual(["no-new-privileges:true"]);
    }
  },
);

test("each target with a journal brings its Redis, or takes the address from its secrets", () => {
  for (const [name, host] of [
    ["compose-journal", "journal"],
    ["swarm-journal", "journal"],
    ["kubernetes-journal", "openenv-journal"],
  ] as const) {
    const { target, topology } = CASES[name] as Case;
    const text = Object.values(render({ target, topology })).join("\n");
    expect(text).toContain(`redis://${host}:6379`);
    expect(text).toContain("image: redis:");
    expect(text).toContain("noeviction");
    const secret = Object.values(render({ target, topology: { ...topology, journal: "secret" } })).join("\n");
    expect(secret).not.toContain("redis:8");
    expect(secret).toMatch(target === "kubernetes" ? /secretRef/ : /JOURNAL: \$\{JOURNAL:\?/);
  }
  expect(() => render({ target: "slurm", topology: { ...IMAGE, journal: "redis" } })).toThrow(/Slurm starts no Redis/);
});

test("a balancer that needs more file descriptors than Linux allows names the setting to raise", () => {
  const given = { ...IMAGE, nodes: 1000, workers: 8, capacity: 128 };
  for (const target of ["compose", "slurm", "haproxy", "envoy"] as const) {
    const backends = ["haproxy", "envoy"].includes(target) ? { backends: ["env:8000"] } : {};
    const text = Object.values(render({ target, topology: given, ...backends })).join("\n");
    // 1,000 servers, each with 1,024 sessions and a tenth more, two descriptors for each: docs/design/scale.md.
    expect(text).toContain("a limit of at least 2255000 (ulimit -n)");
    expect(text).toContain("sysctl -w fs.nr_open=2255000");
    expect(Object.values(render({ target, topology: IMAGE, ...backends })).join("\n")).not.toContain("fs.nr_open");
  }
});

test.each(["compose", "compose-envoy", "compose-build", "swarm", "swarm-envoy"])(
  "%s names the file descriptors that Docker's proxy needs for its published port",
  (name) => {
    const [text = ""] = Object.values(render(CASES[name] as Case));
    const [, needed] = /docker-proxy, .* six file descriptors for each session \((\d+) for all\)/.exec(text) ?? [];
    const [, limit] = /maxconn (\d+)\n/.exec(Object.values(render(CASES[name] as Case))[1] ?? "") ?? [];
    expect(Number(needed)).toBeGreaterThan(0);
    if (limit !== undefined) expect(Number(needed)).toBe(6 * Number(limit));
    expect(text).toMatch(/"userland-proxy": false.*\n *ports:/);
  },
);

test.each([
  ["envoy", 'address: "::", port_value: 8080, ipv4_compat: true'],
  ["haproxy", "bind :::8080 v4v6"],
] as const)("%s listens on :: for IPv4, too", (target, words) => {
  const text = Object.values(render({ target, topology: { balancer: { host: "::" } }, backends: BACKENDS }))[0] ?? "";
  expect(text).toContain(words);
});

test("the published schema of Compose has every field of its files, and of a swarm's", async () => {
  // Only the schema of dclint is used.
  const file = createRequire(import.meta.url).resolve("dclint/package.json");
  // Ajv knows the draft only by its http URL.
  const { $schema: _, ...schema } = JSON.parse(await readFile(join(file, "../schemas/compose.schema.json"), "utf8"));
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
  for (const name of ["compose", "compose-envoy", "compose-build", "swarm", "swarm-envoy"]) {
    const [text = ""] = Object.values(render(CASES[name] as Case));
    validate(parseDocument(text).toJS());
    expect([name, validate.errors]).toEqual([name, null]);
  }
  expect(validate({ services: { env: { image: "echo:1", replicas: 2 } } })).toBe(false);
});

test.each(["kubernetes", "compose", "swarm", "slurm"] as const)(
  "%s allows pages under the published host name",
  (target) => {
    const variables = { ALLOWED_HOSTS: "other.example.org" };
    const files = (given: TopologyInput): string => Object.values(render({ target, topology: given })).join("\n");
    const topology = { ...IMAGE, ingressHost: "echo.example.org" };
    expect(files(topology)).toMatch(/ALLOWED_HOSTS(=|: |\n +value: )echo\.example\.org\n/);
    expect(files({ ...topology, variables })).toMatch(
      /ALLOWED_HOSTS(=|: |\n +value: )'?echo\.example\.org,other\.example\.org'?\n/,
    );
    expect(files(IMAGE)).not.toContain("ALLOWED_HOSTS");
  },
);

test("every metric of the dashboard and the alerts is in /metrics", () => {
  const text = Object.values(render(CASES["monitoring"] as Case)).join("\n");
  const names = new Set(text.match(/\b(?:openenv|process)_[a-z_]+(?=\{)/g));
  const known = Object.entries(METRICS).flatMap(([name, { type }]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_count`] : [name],
  );
  expect(names.size).toBeGreaterThan(10);
  expect([...names].filter((name) => !known.includes(name))).toEqual([]);
  expect(names).toContain("openenv_step_duration_seconds_bucket");
});

test("the autoscaler uses the load by capacity and starts with the spare nodes", () => {
  const documents = parseAllDocuments(render(CASES["kubernetes"] as Case)["servers.yaml"] ?? "").map((one) =>
    one.toJS(),
  );
  const scaler = documents.find(({ kind }) => kind === "HorizontalPodAutoscaler");
  expect(scaler.spec).toMatchObject({ minReplicas: 4, maxReplicas: 12 });
  expect(scaler.spec.metrics[0].pods).toEqual({
    metric: { name: "openenv_load_ratio" },
    target: { type: "AverageValue", averageValue: "800m" },
  });
  const { spec } = documents.find(({ kind }) => kind === "Deployment");
  expect(spec).not.toHaveProperty("replicas");
  expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(60);
});

test.each<Case>([
  { target: "compose", topology: { ...IMAGE, spareNodes: 1 } },
  { target: "swarm", topology: { ...IMAGE, spareNodes: 1 } },
  { target: "slurm", topology: IMAGE },
  { target: "haproxy", topology: IMAGE, backends: BACKENDS },
  { target: "envoy", topology: IMAGE, backends: BACKENDS },
])("only Kubernetes has an autoscaler, whatever maxNodes is: %j", (given) => {
  expect(render({ ...given, topology: { ...given.topology, maxNodes: 12 } })).toEqual(render(given));
});

test.each(["haproxy", "envoy", "monitoring"] as const)("%s has the servers of the topology", (target) => {
  const given = { ...IMAGE, backends: [...BACKENDS] };
  expect(render({ target, topology: given })).toEqual(render({ target, topology: IMAGE, backends: BACKENDS }));
});

test("HAProxy counts the given addresses, not nodes", () => {
  const given: Case = { target: "haproxy", topology: IMAGE, backends: BACKENDS };
  const [text = ""] = Object.values(render(given));
  expect(text).toContain("2 x 2 workers x 250 sessions");
  expect(render({ ...given, topology: { ...IMAGE, nodes: 7 } })).toEqual(render(given));
});

test("Envoy has room for as many servers as there are nodes, because its file of endpoints may get more", () => {
  const size = (nodes: number): string | undefined =>
    render({ target: "envoy", topology: { ...IMAGE, nodes }, backends: BACKENDS })["envoy.yaml"]?.split("\n")[0];
  expect(size(1)).toMatch(/2 x 2 workers x 250 sessions/);
  expect(size(7)).toMatch(/7 x 2 workers x 250 sessions/);
});

test("the admin port of Envoy is that of the topology, also in the script that stops it", () => {
  const topology = { ...IMAGE, balancer: { kind: "envoy", adminPort: 9911, metricsPort: 9902 } } as const;
  for (const target of ["compose", "kubernetes", "envoy"] as const) {
    const backends = target === "envoy" ? { backends: BACKENDS } : {};
    const text = Object.values(render({ target, topology, ...backends })).join("\n");
    expect(text.match(/address: 127\.0\.0\.1, port_value: 9911/g)).toHaveLength(2);
    expect(text.includes("/dev/tcp/127.0.0.1/9911")).toBe(target === "compose");
    expect(text).not.toContain("9901");
  }
});

test("Prometheus scrapes the given servers, as many as the alert expects", () => {
  const topology = { ...IMAGE, balancer: { host: "10.0.0.9", metricsPort: 9902 } };
  const backends = ["10.0.0.5:8000", "gpu-2.example:8000", "[fd00::7]:8000", "10.0.0.8:8000"];
  const { "prometheus.yaml": text = "", "alerts.yaml": alerts = "" } = render({
    target: "monitoring",
    topology,
    backends,
  });
  const jobs: { static_configs: object[] }[] = parseDocument(text).toJS().scrape_configs;
  expect(jobs.map((job) => job.static_configs)).toEqual([[{ targets: backends }], [{ targets: ["10.0.0.9:9902"] }]]);
  expect(text).not.toContain("dns_sd_configs");
  expect(alerts).toContain('sum(up{job="echo"}) < 4 or');
});

test("a DNS name counts as many servers as there are nodes", () => {
  const { "envoy.yaml": text } = render({ target: "envoy", topology: IMAGE, backends: ["env.internal:8000"] });
  expect(text).toContain("3 x 2 workers x 250 sessions");
});

describe("a topology that does not fit the target is rejected before any file is written", () => {
  test.each<[Case, RegExp]>([
    [
      { target: "kubernetes", topology: { directory: "./echo" } },
      /needs an image that its nodes can pull: build and push \.\/echo/,
    ],
    [{ target: "kubernetes", topology: { image: "a:1", balancer: { kind: "haproxy" } } }, /remove balancer\.kind/],
    [{ target: "swarm", topology: {} }, /needs an image/],
    [{ target: "swarm", topology: { image: "a:1", tolerations: [{ key: "x" }] } }, /does not support tolerations/],
    [{ target: "swarm", topology: { image: "a:1", runtimeClass: "gvisor" } }, /remove runtimeClass/],
    [{ target: "swarm", topology: { image: "a:1", nodeSelector: { gpu: "" } } }, /give gpu a value/],
    [{ target: "swarm", topology: { image: "a:1", balancer: { host: "127.0.0.1" } } }, /remove balancer\.host/],
    [{ target: "compose", topology: { image: "a:1", balancer: { host: "::" } } }, /remove balancer\.host/],
    [{ target: "compose", topology: { image: "a:1", nodeSelector: { pool: "x" } } }, /remove nodeSelector and/],
    [
      { target: "compose", topology: { image: "a:1", tolerations: [{ key: "x" }] } },
      /remove nodeSelector and tolerations/,
    ],
    [{ target: "slurm", topology: { image: "a:1", runtimeClass: "gvisor" } }, /without isolation: remove runtimeClass/],
    [{ target: "slurm", topology: { image: "a:1", nodeSelector: { constraint: "" } } }, /constraint: "feature"/],
    [{ target: "compose", topology: {} }, /add image or directory/],
    [{ target: "slurm", topology: {} }, /add one of them/],
    [{ target: "slurm", topology: { directory: ".", nodeSelector: { pool: "x" } } }, /constraint/],
    [{ target: "haproxy", topology: {} }, /--backend 10\.0\.0\.5:8000/],
    [{ target: "envoy", topology: {}, backends: ["env"] }, /must be host:port/],
    [{ target: "compose", topology: { image: "a:1" }, backends: BACKENDS }, /compose finds its servers itself/],
    [{ target: "compose", topology: { image: "a:1", backends: [...BACKENDS] } }, /compose finds its servers itself/],
    [{ target: "monitoring", topology: {}, backends: [...BACKENDS, ...BACKENDS] }, /127\.0\.0\.1:8001 is given twice/],
    [
      { target: "compose", topology: { image: "a:1", balancer: { adminPort: 9911 } } },
      /HAProxy has no admin port: remove balancer\.adminPort/,
    ],
    [
      { target: "slurm", topology: { directory: ".", nodes: 2, balancer: { kind: "envoy", adminPort: 9911 } } },
      /is a socket in its folder: remove balancer\.adminPort/,
    ],
    [
      { target: "envoy", topology: { balancer: { port: 9901 } }, backends: BACKENDS },
      /has the port 9901 already: choose another balancer\.adminPort/,
    ],
    [{ target: "compose", topology: { image: "a:1", egress: "none" } }, /remove egress for compose/],
    [
      { target: "kubernetes", topology: { image: "a:1", variables: { JOURNAL: "./sessions.db" } } },
      /JOURNAL must be the absolute path of a file in a folder.*got "\.\/sessions\.db"/,
    ],
    [{ target: "haproxy", topology: {}, backends: [...BACKENDS, ...BACKENDS] }, /127\.0\.0\.1:8001 is given twice/],
  ])("%j", (given, message) => {
    expect(() => render(given)).toThrow(message);
  });
});
