/** Docker engines that are separate from the machine's: each has its own network, mounts and folder. */
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { spawnChild } from "../harness/children.mjs";

const STARTS_WITHIN_MS = 60_000;

/** Why no engine can be started here; undefined if one can. */
export function findMissing() {
  if (process.getuid?.() !== 0) return "engines and network namespaces need root";
  const missing = ["dockerd", "unshare", "nsenter", "ip"].find((name) => spawnSync("which", [name]).status !== 0);
  return missing && `${missing} is not installed`;
}

/**
 * Starts an engine with this file descriptor limit, also for its proxies; `options` go to dockerd, `archive` is an
 * image of `docker save`. Its `pid` is also that of its network namespace.
 */
export async function startEngine({ descriptors, options = [], archive }) {
  const dir = await mkdtemp(join(tmpdir(), "openenv-engine-"));
  const socket = `unix://${dir}/socket`;
  const config = join(dir, "config.json");
  await mkdir(join(dir, "data"));
  await writeFile(config, "{}");
  const command = [
    ...["dockerd", "--config-file", config, "--host", socket, "--pidfile", join(dir, "pid")],
    ...["--data-root", join(dir, "data"), "--exec-root", join(dir, "exec")],
    ...["--containerd-namespace", "openenv-bench", "--containerd-plugins-namespace", "openenv-bench-plugins"],
    ...options,
  ];
  const script = `ip link set lo up && ulimit -n ${descriptors} && exec "$@"`;
  const child = spawnChild(["unshare", "--net", "--mount", "sh", "-c", script, "sh", ...command]);
  let log = "";
  for (const stream of [child.child.stdout, child.child.stderr]) {
    stream.setEncoding("utf8").on("data", (part) => {
      log = (log + part).slice(-2_000);
    });
  }
  const docker = async (...args) =>
    (await promisify(execFile)("docker", ["--host", socket, ...args], { maxBuffer: 2 ** 26 })).stdout.trim();
  const close = async () => {
    await child.close();
    await rm(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    await waitFor(
      () => docker("version"),
      () => child.child.exitCode !== null,
    );
    await docker("load", "--input", archive);
    return { pid: child.pid, docker, close };
  } catch (error) {
    await close();
    throw new Error(`an engine did not start: ${error.message}\n${log}`);
  }
}

/** The command line that runs a command in the network namespace of an engine. */
export function inNetworkOf({ pid }, command) {
  return ["nsenter", `--net=/proc/${pid}/ns/net`, ...command];
}

async function waitFor(attempt, hasEnded) {
  const deadline = Date.now() + STARTS_WITHIN_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (hasEnded() || Date.now() > deadline) throw error;
      await sleep(200);
    }
  }
}
