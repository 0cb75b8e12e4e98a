/** Real balancers on loopback, with the configuration of `renderTarget`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { ENDPOINTS_FILE } from "../../packages/deploy/src/balancers/envoy.js";
import { renderTarget } from "../../packages/deploy/src/render.js";
import { parseTopology } from "../../packages/deploy/src/topology.js";
import { findFreePort } from "../free-port.js";
import { type Component, requireEnvoy, requireHaproxy, requireNginx } from "../requirement.js";

export interface TestBalancer extends AsyncDisposable {
  url: string;
  /** What its process has printed, to both streams. */
  output(): string;
  /** Ends it and starts it again without its state. */
  restart(): Promise<void>;
  /** Envoy only: replaces the text of its file of endpoints, which it watches. */
  replaceEndpoints(text: string): Promise<void>;
  /** HAProxy only: a new process takes over; the old one ends with its last connection. */
  reload(): Promise<void>;
}

export interface BalancerPlan {
  /** The servers, as `host:port`. */
  backends: readonly string[];
  metricsPort?: number;
  /** Edits the rendered configuration. */
  edit?(text: string): string;
}

interface Kind {
  require(): Promise<Component>;
  /** The arguments to run it in the foreground. */
  args(config: string): string[];
  /** The arguments to check a configuration. */
  check(config: string): string[];
}

const ENVOY = ["--log-level", "warning", "--concurrency", "1", "--use-dynamic-base-id"];

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

/** A proxy without a rendered configuration; tests write it. */
export const NGINX = {
  require: requireNginx,
  args: (config) => ["-e", "stderr", "-g", `daemon off; pid ${config}.pid;`, "-c", config],
} as const satisfies Omit<Kind, "check">;

/** Starts a balancer in front of servers and waits until a request succeeds. */
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
  const files = renderTarget(kind, topology, backends);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), edit(adapt(text)));
  const config = join(folder, Object.keys(files)[0] ?? "");
  const url = `http://127.0.0.1:${port}`;
  let running: Running | undefined = await run(path, BALANCERS[kind].args(config), { url, cwd: folder }).catch(
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
    output: () => running?.output() ?? "",
    async restart() {
      await end();
      running = await run(path, BALANCERS[kind].args(config), { url, cwd: folder });
    },
    async replaceEndpoints(text) {
      await writeFile(join(folder, "new.yaml"), text);
      await rename(join(folder, "new.yaml"), join(folder, ENDPOINTS_FILE));
    },
    async reload() {
      const old = running;
      running = await run(path, [...BALANCERS[kind].args(config), "-sf", String(old?.pid)], { url, cwd: folder });
      replaced.push(old);
      // Until then either process may answer.
      await old?.prints(/Proxy openenv stopped/);
    },
    async [Symbol.asyncDispose]() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** For tests that run concurrently: a free admin port, and long timeouts, because a busy test process answers late. */
function adapt(text: string): string {
  return text.replace("port_value: 9901", "port_value: 0").replace(/(timeout check|- timeout:) 3s/, "$1 30s");
}

interface Running {
  pid: number | undefined;
  output(): string;
  /** Waits until its output has a line. */
  prints(line: RegExp): Promise<void>;
  end(): Promise<void>;
}

/** Starts a balancer with these arguments and waits until a request for `/health` at `url` succeeds. */
export async function run(
  path: string,
  args: readonly string[],
  { url, cwd }: { url: string; cwd?: string },
): Promise<Running> {
  const child = spawn(path, args, { stdio: ["ignore", "pipe", "pipe"], cwd });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += String(chunk)));
  const exited = once(child, "close");
  const deadline = Date.now() + 20_000;
  while (!(await answers(url))) {
    if (child.exitCode === null && Date.now() < deadline) continue;
    child.kill("SIGKILL");
    throw new Error(`${path} ${args.join(" ")} does not serve ${url}:\n${output}`);
  }
  return {
    pid: child.pid,
    output: () => output,
    prints: (line) => vi.waitFor(() => expect(output).toMatch(line), { timeout: 20_000 }),
    end: () => endChild(child, exited),
  };
}

/** Polls: the balancer may need a moment to find its servers healthy. */
async function answers(url: string): Promise<boolean> {
  // A connection that stays open would end with a process that is replaced.
  const headers = { connection: "close" };
  const signal = AbortSignal.timeout(2_000);
  const read = async (response: Response) => [response.status, await response.text()] as const;
  const [status] =
    (await fetch(`${url}/health`, { headers, signal })
      .then(read)
      .catch(() => undefined)) ?? [];
  if (status === 200) return true;
  await new Promise((resolve) => setTimeout(resolve, 50));
  return false;
}

async function endChild(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  // Like a crash: connections are not drained. A killed nginx would leave its workers behind.
  child.kill(child.spawnfile.endsWith("nginx") ? "SIGTERM" : "SIGKILL");
  await exited;
}
