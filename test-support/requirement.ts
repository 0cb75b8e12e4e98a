/**
 * Components that not every machine has. A `*.system.test.ts` file requires one at its top and skips if it is missing:
 *
 *     const python = await requirePython();
 *     describe.skipIf(!python.available)("the released client", () => {
 *       test("plays an episode", () => spawn(python.path, ["-c", script]));
 *     });
 *
 * A missing component adds one skipped test that carries the reason; with its name in `OPENENV_REQUIRE` (comma
 * separated) that test fails instead.
 */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { expect, TestRunner, test } from "vitest";

/** `path` is the executable (or as the function says), empty when it is missing; `reason` says why. */
export interface Component {
  available: boolean;
  path: string;
  reason: string;
}

/** A Python with openenv 0.10.0: `OPENENV_PYTHON`, else that of the active virtual environment, else `python3`. */
export function requirePython(): Promise<Component> {
  const active = process.env["VIRTUAL_ENV"];
  return find({
    name: "python",
    variable: "OPENENV_PYTHON",
    candidates: [...(active ? [`${active}/bin/python`] : []), "python3"],
    args: ["-c", "from importlib.metadata import version; print(version('openenv'))"],
    expected: /^0\.10\.0$/,
    what: "a Python with openenv 0.10.0",
  });
}

/** A Chromium or Chrome: `CHROMIUM`, else the one on the PATH. */
export function requireChromium(): Promise<Component> {
  const candidates = ["chromium", "chromium-browser", "google-chrome"];
  return findCommand("chromium", /Chrom/, { variable: "CHROMIUM", candidates, what: "Chromium" });
}

/** A Node 24: `OPENENV_NODE24`, else the one that runs the tests if it is Node 24. */
export function requireNode24(): Promise<Component> {
  return findCommand("node24", /^v24\./, { candidates: [process.execPath], what: "Node 24" });
}

/** A Bun: `OPENENV_BUN`, else the one on the PATH. */
export function requireBun(): Promise<Component> {
  return findCommand("bun", /^1\./, { what: "Bun 1" });
}

/** A Deno: `OPENENV_DENO`, else the one on the PATH. */
export function requireDeno(): Promise<Component> {
  return findCommand("deno", /^deno 2\./, { what: "Deno 2" });
}

/** What serves environments: this Node, a Bun and a Deno. */
export async function requireRuntimes() {
  const [bun, deno] = [await requireBun(), await requireDeno()];
  return [
    { name: "node", path: process.execPath, available: true },
    { name: "bun", path: bun.path, available: bun.available },
    { name: "deno", path: deno.path, available: deno.available },
  ] as const;
}

/** A workerd, which runs Cloudflare Workers: `OPENENV_WORKERD`, else the one on the PATH. */
export function requireWorkerd(): Promise<Component> {
  return findCommand("workerd", /^workerd \d/);
}

/** A Python with textarena 0.7.4, openenv 0.10.0 and uv: `OPENENV_TEXTARENA_PYTHON`, else `python3`. */
export function requireTextarena(): Promise<Component> {
  return findPython("textarena", { textarena: "0.7.4", openenv: "0.10.0", uv: "" });
}

/** A Python with verifiers 0.3.1 and openenv 0.10.0: `OPENENV_VERIFIERS_PYTHON`, else `python3`. */
export function requireVerifiers(): Promise<Component> {
  return findPython("verifiers", { verifiers: "0.3.1", openenv: "0.10.0" });
}

/** A Python with OpenAI Agents, Inspect AI, FastMCP and `./python`: `OPENENV_AGENTS_PYTHON`, else `python3`. */
export function requireAgents(): Promise<Component> {
  const agents = { "openai-agents": "0.24.0", "inspect-ai": "0.3.285", fastmcp: "4.2.3", mcp: "2.3.0" };
  return findPython("agents", { ...agents, "openenv-ts": "" });
}

/** A Python with LangChain and `./python`: `OPENENV_LANGCHAIN_PYTHON`, else `python3`. Its MCP is an earlier one. */
export function requireLangchain(): Promise<Component> {
  const langchain = { langchain: "1.5.2", "langchain-openai": "1.7.4", "langchain-mcp-adapters": "0.3.2" };
  return findPython("langchain", { ...langchain, mcp: "1.30.0", "openenv-ts": "" });
}

/** A Python with trainers without their large dependencies, and `./python`: `OPENENV_TRAINERS_PYTHON`, else `python3`. */
export function requireTrainers(): Promise<Component> {
  const trainers = { agilerl: "2.58.0", "ms-swift": "4.6.0", verl: "0.9.1", "nemo-gym": "0.4.0", atroposlib: "0.4.0" };
  const loops = { "skyrl-gym": "0.4.0", agentlightning: "1.0.2", "openpipe-art": "0.5.18", openrlhf: "0.11.2" };
  return findPython("trainers", { ...trainers, ...loops, openenv: "0.10.0", pytest: "", "openenv-ts": "" });
}

/** A Python with TRL and other trainers, about 3 GB: `OPENENV_TRAINING_PYTHON`, else `python3`. */
export function requireTraining(): Promise<Component> {
  const trainers = { trl: "", "stable-baselines3": "", openreward: "0.1.167", pytest: "" };
  return findPython("training", { ...trainers, openenv: "0.10.0", "openenv-ts": "" });
}

/** A Python with packages in these versions, or any version. */
export function findPython(name: string, packages: Record<string, string>): Promise<Component> {
  const script = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))";
  const versions = Object.values(packages).map((version) => (version === "" ? "\\S+" : version.replaceAll(".", "\\.")));
  const names = Object.entries(packages).map((entry) => entry.join(" ").trim());
  return find({
    name,
    variable: `OPENENV_${name.toUpperCase()}_PYTHON`,
    candidates: ["python3"],
    args: ["-c", script, ...Object.keys(packages)],
    expected: new RegExp(`^${versions.join(" ")}$`),
    what: `a Python with ${names.join(", ")}`,
  });
}

/** A Python with the Python package and its tools for development: `OPENENV_PYTHON_PACKAGE`, else `python3`. */
export function requirePythonPackage(): Promise<Component> {
  return find({
    name: "python_package",
    variable: "OPENENV_PYTHON_PACKAGE",
    candidates: ["python3"],
    args: ["-c", "import openenv_ts, pydantic, pytest, ruff, mypy; print('installed')"],
    expected: /^installed$/,
    what: "a Python with the package of this repository: pip install './python[dev]'",
  });
}

/** Pythons of other versions with the Python package, their paths separated by colons: `OPENENV_PYTHON_VERSIONS`. */
export function requirePythonVersions(): Promise<Component> {
  return find({
    name: "python_versions",
    variable: "OPENENV_PYTHON_VERSIONS",
    candidates: [],
    ask: async (paths) => {
      const script = "import openenv_ts, pytest; print('installed')";
      return (await Promise.all(paths.split(delimiter).map((path) => run(path, ["-c", script])))).join("");
    },
    expected: /^(installed\s*)+$/,
    what: "a list of Pythons with the package of this repository: pip install './python[dev]'",
  });
}

/** A Python with the Python package, verifiers 0.4.0 and pytest: `OPENENV_PYTHON_VERIFIERS`, else `python3`. */
export function requirePythonVerifiers(): Promise<Component> {
  return find({
    name: "python_verifiers",
    variable: "OPENENV_PYTHON_VERIFIERS",
    candidates: ["python3"],
    args: ["-c", "import openenv_ts, pytest; from importlib.metadata import version; print(version('verifiers'))"],
    expected: /^0\.4\.0$/,
    what: "a Python with pytest and the package of this repository: pip install './python[verifiers]'",
  });
}

/** A bubblewrap that can create namespaces here: `BUBBLEWRAP`, else the one on the PATH. */
export function requireBubblewrap(): Promise<Component> {
  return find({
    name: "bubblewrap",
    variable: "BUBBLEWRAP",
    candidates: ["bwrap"],
    args: ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "echo", "isolated"],
    expected: /^isolated$/,
    what: "a bubblewrap that can isolate a process here",
  });
}

/** An unshare by which this user may mount a file system: `OPENENV_UNSHARE`, else the one on the PATH. */
export function requireMount(): Promise<Component> {
  const args = ["-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt && echo mounted"];
  return findCommand("unshare", /^mounted$/, { args, what: "an unshare by which this user may mount a file system" });
}

/** A uv: `OPENENV_UV`, else the one on the PATH. */
export function requireUv(): Promise<Component> {
  return findCommand("uv", /^uv \d/);
}

/** A Docker engine that is a swarm manager; `path` is its docker command: `OPENENV_SWARM`, else `docker`. */
export function requireSwarm(): Promise<Component> {
  return find({
    name: "swarm",
    variable: "OPENENV_SWARM",
    candidates: ["docker"],
    args: ["info", "-f", "{{.Swarm.LocalNodeState}} {{.Swarm.ControlAvailable}}"],
    expected: /^active true$/,
    what: "the docker command of a swarm manager",
  });
}

/** An image registry without login; `path` is its `host:port`: `OPENENV_REGISTRY`. */
export function requireRegistry(): Promise<Component> {
  return find({
    name: "registry",
    variable: "OPENENV_REGISTRY",
    candidates: ["127.0.0.1:5000"],
    ask: async (host) => String((await fetch(`http://${host}/v2/`, { signal: AbortSignal.timeout(5_000) })).status),
    expected: /^200$/,
    what: "an image registry",
  });
}

/** A curl: `OPENENV_CURL`, else the one on the PATH. */
export function requireCurl(): Promise<Component> {
  return findCommand("curl", /^curl \d/);
}

/** A docker command with a running engine: `OPENENV_DOCKER`, else `docker`. */
export function requireDocker(): Promise<Component> {
  return find({
    name: "docker",
    variable: "OPENENV_DOCKER",
    candidates: ["docker"],
    args: ["version", "--format", "{{.Server.Version}}"],
    expected: /^\d+\./,
    what: "a docker command with a running engine",
  });
}

/** An HAProxy: `OPENENV_HAPROXY`, else the one on the PATH. */
export function requireHaproxy(): Promise<Component> {
  return findCommand("haproxy", /^HAProxy version/, { candidates: ["haproxy", "/usr/sbin/haproxy"], args: ["-v"] });
}

/** An Envoy: `OPENENV_ENVOY`, else the one on the PATH. */
export function requireEnvoy(): Promise<Component> {
  return findCommand("envoy", /version: /);
}

/** An nginx: `OPENENV_NGINX`, else the one on the PATH. */
export function requireNginx(): Promise<Component> {
  return find({
    name: "nginx",
    variable: "OPENENV_NGINX",
    candidates: ["nginx", "/usr/sbin/nginx"],
    // nginx prints its version to standard error.
    ask: async (file) => (await promisify(execFile)(file, ["-v"], { timeout: 60_000 })).stderr,
    expected: /nginx\/\d/,
    what: "nginx",
  });
}

/** A promtool, which checks the metrics format: `OPENENV_PROMTOOL`, else the one on the PATH. */
export function requirePromtool(): Promise<Component> {
  return findCommand("promtool", /^promtool, version/);
}

/** A Prometheus: `OPENENV_PROMETHEUS`, else the one on the PATH. */
export function requirePrometheus(): Promise<Component> {
  return findCommand("prometheus", /^prometheus, version/);
}

/** A redis-server: `OPENENV_REDIS`, else the one on the PATH. */
export function requireRedis(): Promise<Component> {
  return findCommand("redis", /^Redis server v=/, { candidates: ["redis-server"], what: "redis-server" });
}

/** The configuration file of a Slurm with working nodes: `OPENENV_SLURM`. */
export function requireSlurm(): Promise<Component> {
  return find({
    name: "slurm",
    variable: "OPENENV_SLURM",
    candidates: process.env["SLURM_CONF"] ? [process.env["SLURM_CONF"]] : [],
    ask: async (file) => {
      const options = { timeout: 60_000, env: { ...process.env, SLURM_CONF: file } };
      return (await promisify(execFile)("sinfo", ["--noheader", "--format=%T"], options)).stdout;
    },
    expected: /idle|mixed|allocated/,
    what: "the configuration of a working Slurm",
  });
}

/** A docker command with Compose; no engine is needed: `OPENENV_COMPOSE`, else `docker`. */
export function requireCompose(): Promise<Component> {
  return find({
    name: "compose",
    variable: "OPENENV_COMPOSE",
    candidates: ["docker"],
    args: ["compose", "version"],
    expected: /Compose version/,
    what: "a docker command with Compose",
  });
}

/** A kubernetes-validate, which checks manifests against the published schemas: `OPENENV_KUBERNETES_VALIDATE`. */
export function requireKubernetesValidate(): Promise<Component> {
  const variable = "OPENENV_KUBERNETES_VALIDATE";
  const what = "kubernetes-validate";
  return findCommand("kubernetes", /--strict/, { variable, candidates: [what], args: ["--help"], what });
}

/** A kubectl of a cluster that tests may fill: `OPENENV_KUBECTL`. No other is tried: its cluster could be in use. */
export function requireKubectl(): Promise<Component> {
  const more = {
    candidates: [],
    args: ["get", "--raw", "/readyz"],
    what: "a kubectl of a cluster that tests may fill",
  };
  return findCommand("kubectl", /^ok$/, more);
}

/** The same, whose nodes the tests run: they give its Pods addresses and mounts of this machine, which needs root. */
export function requireCluster(): Promise<Component> {
  const run = promisify(execFile);
  const ask = async (file: string): Promise<string> => {
    await run("unshare", ["--mount", "true"]);
    await run("ip", ["route", "replace", "local", "10.88.0.0/16", "dev", "lo"]);
    return (await run(file, ["get", "--raw", "/readyz"])).stdout;
  };
  const what = "a kubectl of a cluster without kubelets, and root";
  return findCommand("kubectl", /^ok$/, { candidates: [], ask, what });
}

/** An executable with the name of the component, which prints its version; its variable is `OPENENV_` and the name. */
export function findCommand(name: string, expected: RegExp, more: Partial<Search> = {}): Promise<Component> {
  const variable = `OPENENV_${name.toUpperCase()}`;
  return find({ name, variable, candidates: [name], args: ["--version"], expected, what: name, ...more });
}

interface Search {
  name: string;
  variable: string;
  candidates: string[];
  /** The arguments of a candidate that is an executable. */
  args?: string[];
  /** How to query a candidate that is not an executable. */
  ask?: (candidate: string) => Promise<string>;
  expected: RegExp;
  what: string;
}

async function find(search: Search): Promise<Component> {
  checkCaller(search.name);
  const named = process.env[search.variable];
  for (const path of named ? [named] : search.candidates) {
    if (await answers(path, search)) return { available: true, path: await locate(path, search), reason: "" };
  }
  const reason = named
    ? `${search.variable}=${named} is not ${search.what}`
    : `${search.what} was not found (set ${search.variable})`;
  report(search.name, reason);
  return { available: false, path: "", reason };
}

/** Reports a wrong call on every machine, with or without the component. */
function checkCaller(name: string): void {
  const running = TestRunner.getCurrentTest();
  if (running) {
    throw new Error(
      `"${running.name}" requires the component ${name} while it runs: require it at the top of the file, and skip if it is missing.`,
    );
  }
  const { testPath = "" } = expect.getState();
  if (/\.(?:system|cluster)\.test\.ts$/.test(testPath)) return;
  throw new Error(`${testPath} requires the component ${name}: move these tests to a *.system.test.ts file.`);
}

async function answers(
  path: string,
  { args = [], ask = (file) => run(file, args), expected }: Search,
): Promise<boolean> {
  try {
    return expected.test((await ask(path)).trim());
  } catch {
    return false;
  }
}

/** Finds an executable: not every program searches the PATH. */
async function locate(path: string, { args }: Search): Promise<string> {
  if (args === undefined || path.includes("/")) return path;
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const found = join(folder, path);
    const isThere = await access(found, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return found;
  }
  return path;
}

async function run(file: string, args: string[]): Promise<string> {
  return (await promisify(execFile)(file, args, { timeout: 60_000 })).stdout;
}

function report(name: string, reason: string): void {
  const required = (process.env["OPENENV_REQUIRE"] ?? "").split(",").map((entry) => entry.trim());
  test(`the component ${name} is available`, ({ skip }) => {
    if (required.includes(name)) throw new Error(`required component ${name} is missing: ${reason}`);
    skip(`${name}: ${reason}`);
  });
}
