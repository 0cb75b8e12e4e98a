/** Balancers from `openenv deploy render`, for servers on this machine. */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { descriptorLimit, findFreePort } from "openenv-ts/internal";
import { spawnChild } from "./children.mjs";
import { render } from "./render.mjs";

const HEALTHY_WITHIN_MS = 60_000;

/** The usual paths of HAProxy. */
const env = { PATH: `${process.env.PATH}:/usr/sbin` };

const FILES = { haproxy: "haproxy.cfg", envoy: "envoy.yaml" };

const COMMANDS = {
  haproxy: (dir) => ["haproxy", "-db", "-f", join(dir, FILES.haproxy)],
  envoy: (dir) => [
    process.env.OPENENV_ENVOY,
    "-c",
    join(dir, FILES.envoy),
    "--log-level",
    "error",
    "--use-dynamic-base-id",
  ],
};

/** Whether this kind of balancer is installed. */
export function hasBalancer(kind) {
  const [command] = COMMANDS[kind]("");
  return command !== undefined && spawnSync(command, kind === "envoy" ? ["--version"] : ["-v"], { env }).status === 0;
}

/**
 * Starts a balancer for `capacity` sessions per server. Its `processes` share one port, and the kernel distributes the
 * connections: each connection needs two file descriptors, and one process may open only a limited number.
 */
export async function startBalancer(servers, { kind = "haproxy", processes = 1, capacity }) {
  const dir = await mkdtemp(join(tmpdir(), "openenv-balancer-"));
  const running = [];
  const close = async () => {
    await Promise.all(running.map((one) => one.close()));
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const port = await findFreePort();
    await render(kind, dir, [
      ...["--balancer-host", "127.0.0.1", "--balancer-port", port, "--nodes", servers.length],
      ...["--capacity", Math.ceil(capacity / processes)],
      ...servers.flatMap((server, index) => ["--backend", `${nameOf(index)}:${server.port}`]),
    ]);
    // Envoy has the addresses in a separate file.
    await replace(join(dir, kind === "envoy" ? "endpoints.yaml" : FILES.haproxy), NAMES, () => "127.0.0.1");
    await ADAPT[kind](dir);
    for (let number = 0; number < processes; number++) running.push(spawnChild(COMMANDS[kind](dir), { env, cwd: dir }));
    await waitUntilHealthy(port);
    const ended = running.find(({ child }) => child.exitCode !== null);
    if (ended) throw new Error(`a balancer has exited: ${ended.child.stderr.read()}`);
    return { port, url: `http://127.0.0.1:${port}`, pid: running[0].pid, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Settings that depend on the machine. */
const ADAPT = {
  // HAProxy does not start with a connection limit above its file descriptor limit.
  haproxy: (dir) =>
    replace(join(dir, FILES.haproxy), /^ {4}maxconn (\d+)$/m, (line, connections) => {
      const possible = Math.floor(descriptorLimit() / 2) - OTHER_DESCRIPTORS;
      return Number(connections) > possible ? `    maxconn ${possible}` : line;
    }),
  // Several processes on one machine cannot share it.
  envoy: (dir) => replace(join(dir, FILES.envoy), /port_value: 9901/, () => "port_value: 0"),
};
const OTHER_DESCRIPTORS = 600;

/** Each server has a different name while the file is rendered, because one server may be listed a thousand times. */
function nameOf(index) {
  return `127.1.${index >> 8}.${index & 255}`;
}
const NAMES = /127\.1\.\d+\.\d+/g;

async function replace(file, pattern, by) {
  await writeFile(file, (await readFile(file, "utf8")).replace(pattern, by));
}

/** Resolves when GET /health at the port returns 200. */
async function waitUntilHealthy(port) {
  const deadline = Date.now() + HEALTHY_WITHIN_MS;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    await answer?.text();
    if (answer?.status === 200) return;
    if (Date.now() > deadline) throw new Error(`nothing healthy at port ${port} within ${HEALTHY_WITHIN_MS / 1000} s`);
    await sleep(100);
  }
}
