import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments, parseDocument } from "yaml";
import { callCommand, createProject } from "../../../test-support/commands/command-line.js";
import { BALANCERS } from "../../../test-support/deploy/balancers.js";
import { BACKENDS, CASES, type Case, render } from "../../../test-support/deploy/render-cases.js";
import { takeTurn } from "../../../test-support/environments/take-turn.js";
import {
  requireCompose,
  requireKubectl,
  requireKubernetesValidate,
  requirePromtool,
  requireSlurm,
} from "../../../test-support/requirement.js";
import { pipedFiles } from "./targets.js";
import { renderYaml } from "./yaml.js";

const run = promisify(execFile);
const MANIFESTS = Object.entries(CASES).filter(([, { target }]) => target === "kubernetes");
const SUFFIX = { envoy: "envoy.yaml", haproxy: "haproxy.cfg" } as const;

for (const [kind, { require, check }] of Object.entries(BALANCERS)) {
  const component = await require();
  const target = kind as keyof typeof SUFFIX;
  const file = SUFFIX[target];
  const onAll: Case = { target, topology: { balancer: { host: "::" } }, backends: BACKENDS };
  const configs = Object.entries({ ...CASES, "a balancer on ::": onAll }).filter(([, given]) => file in render(given));
  test.skipIf(!component.available).each<[string, Case]>(configs)(
    `${kind} accepts the configuration of %s`,
    async (_name, given) => {
      const { [file]: text = "", ...others } = render(given);
      // Envoy looks for its file of endpoints in the folder in which it is started.
      await withFile(file, text, async (path) => {
        const cwd = dirname(path);
        if (target === "envoy")
          for (const [name, other] of Object.entries(others)) await writeFile(join(cwd, name), other);
        await run(component.path, check(path), { cwd });
      });
    },
  );
}

const kubernetes = await requireKubernetesValidate();
test.skipIf(!kubernetes.available).each(MANIFESTS)(
  "the schemas of Kubernetes know every field of %s",
  { timeout: 60_000 },
  async (_name, given) => {
    const files = render(given);
    for (const file of pipedFiles("kubernetes", files)) {
      await withFile(file, files[file] ?? "", (path) => run(kubernetes.path, ["--strict", path]));
    }
  },
);

const cluster = await requireKubectl();
test.skipIf(!cluster.available)(
  "kubectl applies what deploy render prints for Kubernetes to a namespace that enforces the standard restricted",
  { timeout: 600_000 },
  async () => {
    const kubectl = async (args: string[], input = "") => {
      const running = run(cluster.path, args);
      running.child.stdin?.end(input);
      const { stdout, stderr } = await running;
      // Deployments that violate the standard are only warned of.
      expect(stderr).not.toContain("PodSecurity");
      return stdout;
    };
    const namespace = `openenv-render-${randomUUID().slice(0, 8)}`;
    const policy = "pod-security.kubernetes.io";
    const labels = { [`${policy}/enforce`]: "restricted", [`${policy}/warn`]: "restricted" };
    await kubectl(
      ["apply", "-f", "-"],
      renderYaml({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } }),
    );
    try {
      for (const [name, { topology }] of MANIFESTS) {
        await using project = await createProject({ "topology.json": JSON.stringify(topology) });
        const args = ["deploy", "render", "--target", "kubernetes", "--topology", "topology.json"];
        const { code, stdout } = await callCommand(args, { cwd: project.dir });
        expect([name, code]).toEqual([name, 0]);
        const applied = await kubectl(["apply", "--namespace", namespace, "--validate=strict", "-f", "-"], stdout);
        const count = parseAllDocuments(stdout).length;
        expect(applied.match(/ (created|configured|unchanged)$/gm)).toHaveLength(count);
      }
    } finally {
      await kubectl(["delete", "namespace", namespace, "--wait=false"]);
    }
  },
);

const slurm = await requireSlurm();
for (const name of ["slurm-one", "slurm-many", "slurm-envoy"]) {
  test.skipIf(!slurm.available)(`sbatch accepts ${name}`, { timeout: 600_000 }, async () => {
    // Other tests take one of its two nodes down.
    const release = await takeTurn("slurm");
    onTestFinished(release);
    const env = { ...process.env, SLURM_CONF: slurm.path };
    const text = render(CASES[name] as Case)["job.sbatch"] ?? "";
    await withFile("job.sbatch", text, async (path) => {
      const { stderr } = await run("sbatch", ["--test-only", path], { env });
      expect(stderr).toMatch(/Job \d+ to start at/);
      await run("bash", ["-n", path]);
    });
  });
}

const compose = await requireCompose();
test.skipIf(!compose.available).each(["compose", "compose-envoy", "compose-build"])(
  "docker compose accepts %s",
  async (name) => {
    const text = render(CASES[name] as Case)["compose.yaml"] ?? "";
    await withFile("compose.yaml", text, (path) => run(compose.path, ["compose", "-f", path, "config"]));
  },
);

const promtool = await requirePromtool();
test.skipIf(!promtool.available)("Prometheus accepts the scrape job and the alert rules", async () => {
  const { "alerts.yaml": alerts = "", "prometheus.yaml": config = "" } = render(CASES["monitoring"] as Case);
  await withFile("alerts.yaml", alerts, async (path) => {
    const { stdout } = await run(promtool.path, ["check", "rules", "--lint-fatal", path]);
    expect(stdout).toMatch(/SUCCESS: 17 rules found/);
    const copied = join(path, "../prometheus.yaml");
    await writeFile(copied, config);
    await run(promtool.path, ["check", "config", "--syntax-only", copied]);
  });
  const { "alerts.yaml": rules = "", "prometheus.yaml": listed = "" } = render(CASES["monitoring-backends"] as Case);
  await withFile("alerts.yaml", rules, async (path) => {
    await run(promtool.path, ["check", "rules", "--lint-fatal", path]);
    const copied = join(path, "../prometheus.yaml");
    await writeFile(copied, listed);
    await run(promtool.path, ["check", "config", "--syntax-only", copied]);
  });
  // Debian builds promtool without Kubernetes discovery.
  const { "monitoring/prometheus.scrape.yaml": pods = "" } = render(CASES["kubernetes"] as Case);
  const [{ kubernetes_sd_configs: _, ...job }] = parseDocument(pods).toJS().scrape_configs;
  const rest = JSON.stringify({ scrape_configs: [job] });
  await withFile("prometheus.yaml", rest, (path) => run(promtool.path, ["check", "config", "--syntax-only", path]));
});

async function withFile(name: string, text: string, use: (path: string) => Promise<unknown>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "openenv-render-"));
  const path = join(folder, name);
  try {
    await writeFile(path, text);
    await use(path);
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as { stdout?: string; stderr?: string; message: string };
    throw new Error(`${message}\n${stdout}\n${stderr}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
