/** Real balancers on loopback, each with the configuration that `renderTarget` gives it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderTarget } from "../../packages/deploy/src/render.js";
import { parseTopology } from "../../packages/deploy/src/topology.js";
import { findFreePort } from "../free-port.js";
import { type Component, requireEnvoy, requireHaproxy, requireNginx } from "../requirement.js";

export interface TestBalancer extends AsyncDisposable {
  url: string;
  /** Ends it and starts it again with nothing kept. */
  restart(): Promise<void>;
  /** Of HAProxy: another process takes over; the old one ends with its last connection. */
  reload(): Promise<void>;
}

export interface BalancerPlan {
  /** The servers, as `host:port`. */
  backends: readonly string[];
  metricsPort?: number;
  /** Changes what was rendered; by default nothing. */
  edit?(text: string): string;
}

interface Kind {
  require(): Promise<Component>;
  /** How it runs with a configuration in the foreground. */
  args(config: string): string[];
  /** How it checks one. */
  check(config: string): string[];
}

const ENVOY = ["--log-level", "error", "--concurrency", "1", "--use-dynamic-base-id"];

export const BALANCERS = {
  haproxy: {
    require: requireHaproxy,
    args: (config) => ["-db", "-f", config],
    check: (config) => ["-c", "-f", config],
  },
  envoy: {
    require: requireEnvoy,
    args: (config) => ["-c", config, ...ENVOY],
    check: (config) => ["--mode", "validate", "-c", config, ...ENVOY],
  },
} as const satisfies Record<string, Kind>;

/** A proxy that no file is rendered for; a test writes its configuration. */
export const NGINX = {
  require: requireNginx,
  args: (config) => ["-e", "stderr", "-g", `daemon off; pid ${config}.pid;`, "-c", config],
} as const satisfies Omit<Kind, "check">;

/** Starts a balancer before servers and waits until a request gets through. */
export async function startBalancer(
  kind: keyof typeof BALANCERS,
  path: string,
  { backends, metricsPort, edit = (text) => text }: BalancerPlan,
): Promise<TestBalancer> {
  const folder = await mkdtemp(join(tmpdir(), "openenv-balancer-"));
  const port = await findFreePort();
  const topology = parseTopology({
    name: `test-${port}`,
    nodes: backends.length,
    balancer: { host: "127.0.0.1", port, metricsPort },
  });
  const [[name, text] = ["", ""]] = Object.entries(renderTarget(kind, topology, backends));
  const config = join(folder, name);
  await writeFile(config, edit(adapt(text)));
  const url = `http://127.0.0.1:${port}`;
  let running: Running | undefined = await run(path, BALANCERS[kind].args(config), url).catch(
    async (error: unknown) => {
      await rm(folder, { recursive: true, force: true });
      throw error;
    },
  );
  const replaced: (Running | undefined)[] = [];
  const end = async (): Promise<void> => {
    await Promise.all([...replaced.splice(0), running].map((one) => one?.end()));
    running = undefined;
  };
  return {
    url,
    async restart() {
      await end();
      running = await run(path, BALANCERS[kind].args(config), url);
    },
    async reload() {
      const old = running;
      running = await run(path, [...BALANCERS[kind].args(config), "-sf", String(old?.pid)], url);
      replaced.push(old);
    },
    async [Symbol.asyncDispose]() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Two tests may run at once, and a busy test process answers late: here a check fails by an answer or a refusal only. */
function adapt(text: string): string {
  return text.replace("port_value: 9901", "port_value: 0").replace(/(timeout check|- timeout:) 3s/, "$1 30s");
}

interface Running {
  pid: number | undefined;
  end(): Promise<void>;
}

/** Runs a balancer with these arguments until a request for `/health` below `url` gets through. */
export async function run(path: string, args: readonly string[], url: string): Promise<Running> {
  const child = spawn(path, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += String(chunk)));
  const exited = once(child, "close");
  const deadline = Date.now() + 20_000;
  while (!(await answers(url))) {
    if (child.exitCode === null && Date.now() < deadline) continue;
    child.kill("SIGKILL");
    throw new Error(`${path} ${args.join(" ")} does not serve ${url}:\n${output}`);
  }
  return { pid: child.pid, end: () => endChild(child, exited) };
}

/** Polls; the balancer may need a moment to find its servers healthy. */
async function answers(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  await response?.text();
  if (response?.status === 200) return true;
  await new Promise((resolve) => setTimeout(resolve, 50));
  return false;
}

async function endChild(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  // As a crash would: connections are not drained. An nginx that is killed leaves its workers behind.
  child.kill(child.spawnfile.endsWith("nginx") ? "SIGTERM" : "SIGKILL");
  await exited;
}
