import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { expectRestricted } from "../../../../test-support/kubernetes/restricted.js";
import { renderTarget } from "../render.js";
import { parseTopology, type TopologyInput } from "../topology.js";

const ECHO = { name: "echo", image: "registry.example.org/echo:1.0", nodes: 3, workers: 2, capacity: 250 } as const;

test("the series of the autoscaler have the labels of its query, and are scraped with the token", () => {
  const { "monitoring/prometheus.scrape.yaml": job = "", "monitoring/prometheus-adapter.values.yaml": values = "" } =
    render({
      ...ECHO,
      maxNodes: 12,
    });
  const [scrape] = parseAllDocuments(job)[0]?.toJS().scrape_configs ?? [];
  expect(scrape).toMatchObject({
    job_name: "echo",
    authorization: { type: "Bearer" },
    kubernetes_sd_configs: [{ role: "pod", selectors: [{ label: expect.stringContaining("component=server") }] }],
  });
  const targets = scrape.relabel_configs.flatMap(({ target_label: target }: { target_label?: string }) => target ?? []);
  expect(values).toMatch(new RegExp(targets.map((target: string) => `${target}!=""`).join(",")));
  expect(targets).toEqual(["namespace", "pod"]);
});

const TMP = "/tmp";

test("every Pod fits the Pod Security Standard restricted and writes to volumes alone, also with a low port", () => {
  const pods = documents({ ...ECHO, maxNodes: 12, balancer: { port: 80 }, journal: "redis" })
    .filter(({ kind }) => ["Deployment", "DaemonSet", "StatefulSet"].includes(kind))
    .map(({ spec }) => spec.template.spec);
  expect(pods).toHaveLength(5);
  for (const pod of pods) {
    expectRestricted(pod);
    for (const { securityContext } of [...pod.containers, ...(pod.initContainers ?? [])]) {
      expect(securityContext.readOnlyRootFilesystem).toBe(true);
    }
  }
});

test("a server may write to /tmp, to the folder of its journal and to those of the topology, each mounted once", () => {
  const mounts = (topology: TopologyInput) => {
    const { containers, volumes } = servers({ ...ECHO, ...topology }).spec.template.spec;
    const [{ volumeMounts }] = containers;
    expect(volumes).toEqual(volumeMounts.map(({ name }: { name: string }) => ({ name, emptyDir: {} })));
    return volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
  };
  expect(mounts({})).toEqual([TMP]);
  expect(mounts({ journal: "redis" })).toEqual([TMP]);
  expect(mounts({ variables: { JOURNAL: "memory" } })).toEqual([TMP]);
  expect(mounts({ variables: { JOURNAL: "/journal/sessions.db" } })).toEqual([TMP, "/journal"]);
  expect(mounts({ variables: { JOURNAL: `${TMP}/sessions.db` } })).toEqual([TMP]);
  const writable = ["/app/data", "/app/data/cache", `${TMP}/x`];
  expect(mounts({ writable, variables: { JOURNAL: "/app/data/sessions.db" } })).toEqual([TMP, "/app/data"]);
  for (const wrong of ["app", "/", "/app/../etc", "/a b", "/app/"])
    expect(() => mounts({ writable: [wrong] })).toThrow();
});

test("servers reach DNS, their journal and the public internet, and only servers reach the journal", () => {
  const policies = (topology: TopologyInput) =>
    new Map(
      documents({ ...ECHO, ...topology })
        .filter(({ kind }) => kind === "NetworkPolicy")
        .map(({ metadata, spec }) => [metadata.name, spec]),
    );
  const dns = {
    ports: [
      { protocol: "UDP", port: 53 },
      { protocol: "TCP", port: 53 },
    ],
  };
  const peer = (component: string) => ({
    podSelector: { matchLabels: { "app.kubernetes.io/name": "echo", "app.kubernetes.io/component": component } },
  });
  const port = (number: number) => [{ protocol: "TCP", port: number }];
  const open = policies({ journal: "redis", port: 8001 });
  expect([...open.keys()]).toEqual(["echo", "echo-balancer", "echo-journal"]);
  expect(open.get("echo")).toMatchObject({ ...peer("server"), ingress: [{ ports: port(8001) }] });
  const [first, second, internet] = open.get("echo").egress;
  expect([first, second]).toEqual([dns, { to: [peer("journal")], ports: port(6379) }]);
  expect(internet.to[0].ipBlock.cidr).toBe("0.0.0.0/0");
  // The metadata service of clouds hands out credentials.
  expect(internet.to[0].ipBlock.except).toContain("169.254.0.0/16");
  expect(open.get("echo-balancer").egress).toEqual([dns, { to: [peer("server")], ports: port(8001) }]);
  expect(open.get("echo-journal")).toMatchObject({
    ingress: [{ from: [peer("server")], ports: port(6379) }],
    egress: [],
  });
  const egress = (topology: TopologyInput) => policies(topology).get("echo").egress;
  expect(egress({ egress: "none" })).toEqual([dns]);
  expect(egress({ egress: "all" })).toEqual([dns, {}]);
  expect(egress({ egress: "none", journal: "secret" })).toEqual([dns, { ports: port(6379) }]);
  const elsewhere = { egress: "none", variables: { JOURNAL: "redis://cache.internal:6380/1" } } as const;
  expect(egress(elsewhere)).toEqual([dns, { ports: port(6380) }]);
});

test("Envoy in Kubernetes may listen on a low port without root", () => {
  const sysctls = [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }];
  const low = renderBalancers({ ...ECHO, balancer: { port: 80 } });
  expect(low.template.spec.securityContext).toMatchObject({ runAsUser: 101, sysctls });
  expect(renderBalancers(ECHO).template.spec.securityContext).not.toHaveProperty("sysctls");
});

test("Envoys in Kubernetes are replaced when their configuration changes, and only then", () => {
  const checksum = (topology: TopologyInput) => renderBalancers(topology).template.metadata.annotations;
  expect(checksum({ ...ECHO, port: 8001 })).not.toEqual(checksum(ECHO));
  expect(checksum({ ...ECHO, variables: { GREETING: "hello" } })).toEqual(checksum(ECHO));
});

test("a thousand nodes get the Envoys that the page on scale computes", () => {
  const large = { name: "echo", image: "echo:1", nodes: 1000, workers: 8, capacity: 128 };
  const { deployment, container, config } = renderBalancers(large);
  // 1,024,000 sessions x 64 us / 0.7 are 94 cores: 12 Envoys of 8, and one more.
  expect(deployment.spec.replicas).toBe(13);
  expect(container.resources.limits).toEqual({ cpu: "8", memory: "6126Mi" });
  expect(container.resources.requests).toEqual(container.resources.limits);
  expect(container.args.join(" ")).toContain("--concurrency 8");
  expect(config).toContain("a limit of at least 188834 (ulimit -n)");
  expect(config).toContain("max_connections: 93917\n");
  expect(deployment.spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
});

test("an update replaces the same share of the servers, however many the autoscaler has started", () => {
  const update = (topology: TopologyInput) => servers({ ...ECHO, ...topology }).spec.strategy.rollingUpdate;
  expect(update({ nodes: 1000 })).toEqual({ maxSurge: "3%", maxUnavailable: 0 });
  expect(update({ nodes: 5, maxNodes: 1000 })).toEqual(update({ nodes: 1000 }));
});

test("the first process of a server's Pod reaps the processes that an environment leaves behind", () => {
  expect(servers(ECHO).spec.template.spec.shareProcessNamespace).toBe(true);
});

test("few sessions get two Envoys of one CPU, with room for the servers that the autoscaler may add", () => {
  const { deployment, container } = renderBalancers(ECHO);
  expect(deployment.spec.replicas).toBe(2);
  expect(container.resources.limits).toEqual({ cpu: "1", memory: "1024Mi" });
  expect(container.args.join(" ")).toContain("--concurrency 1");
  expect(renderBalancers({ ...ECHO, maxNodes: 1000 }).deployment.spec.replicas).toBe(7);
});

test("Kubernetes restarts a server that is not alive, and sends nothing to one that is not ready", () => {
  const { livenessProbe, startupProbe, readinessProbe } = servers(ECHO).spec.template.spec.containers[0];
  expect(livenessProbe.httpGet.path).toBe("/livez");
  expect(startupProbe.httpGet.path).toBe("/livez");
  expect(readinessProbe.httpGet.path).toBe("/readyz?exclude=full&exclude=journal");
});

function render(topology: TopologyInput) {
  return renderTarget("kubernetes", parseTopology(topology));
}

/** The objects of all manifests. */
function documents(topology: TopologyInput) {
  const files = Object.entries(render(topology)).filter(([name]) => !name.includes("/"));
  return files.flatMap(([, text]) => parseAllDocuments(text).map((one) => one.toJS()));
}

/** The Deployment of the servers. */
function servers(topology: TopologyInput) {
  const { "servers.yaml": text = "" } = render(topology);
  return parseAllDocuments(text)[0]?.toJS();
}

/** The Deployment of the balancers, and their configuration. */
function renderBalancers(topology: TopologyInput) {
  const { "balancer.yaml": text = "" } = render(topology);
  const all = parseAllDocuments(text).map((one) => one.toJS());
  const deployment = all.find(({ kind }) => kind === "Deployment");
  const config: string = all.find(({ kind }) => kind === "ConfigMap").data["envoy.yaml"];
  const { template } = deployment.spec;
  return { deployment, config, template, container: template.spec.containers[0] };
}
