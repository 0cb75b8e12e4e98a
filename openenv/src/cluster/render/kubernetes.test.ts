import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { parseTopology, type TopologyInput } from "../topology.js";
import { renderTarget } from "./render.js";

const ECHO = { name: "echo", image: "registry.example.org/echo:1.0", nodes: 3, workers: 2, capacity: 250 } as const;

test("what the autoscaler looks at has the labels by which it is looked for, and is asked with the token", () => {
  const { "prometheus.scrape.yaml": job = "", "prometheus-adapter.values.yaml": values = "" } = render({
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

test("Envoy of Kubernetes is not root, as its image can only begin as root with capabilities", () => {
  expect(renderBalancers(ECHO).container.securityContext).toMatchObject({
    runAsNonRoot: true,
    runAsUser: 101,
    capabilities: { drop: ["ALL"] },
  });
});

test("Envoy of Kubernetes, which is not root, may listen at a low port all the same", () => {
  const low = renderBalancers({ ...ECHO, balancer: { port: 80 } });
  const sysctls = [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }];
  expect(low.template.spec.securityContext).toEqual({ sysctls });
  expect(renderBalancers(ECHO).template.spec.securityContext).toBeUndefined();
});

test("Envoys of Kubernetes are replaced when their configuration changes, and only then", () => {
  const checksum = (topology: TopologyInput) => renderBalancers(topology).template.metadata.annotations;
  expect(checksum({ ...ECHO, port: 8001 })).not.toEqual(checksum(ECHO));
  expect(checksum({ ...ECHO, variables: { GREETING: "hello" } })).toEqual(checksum(ECHO));
});

test("Envoy of Kubernetes has memory for every connection that it may have", () => {
  const memory = (nodes: number) => renderBalancers({ ...ECHO, nodes }).container.resources.limits.memory;
  expect(memory(1)).toBe("1024Mi");
  // 55,000 connections of 54 kB.
  expect(Number.parseInt(memory(100), 10)).toBeGreaterThan((55_000 * 54) / 1024);
});

function render(topology: TopologyInput) {
  return renderTarget("kubernetes", parseTopology(topology));
}

/** The Deployment of the balancers, for this topology. */
function renderBalancers(topology: TopologyInput) {
  const { "balancer.yaml": text = "" } = render(topology);
  const { template } = parseAllDocuments(text)
    .map((one) => one.toJS())
    .find(({ kind }) => kind === "Deployment").spec;
  return { template, container: template.spec.containers[0] };
}
