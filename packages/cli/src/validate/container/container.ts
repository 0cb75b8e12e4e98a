import { randomBytes } from "node:crypto";
import { type StartedServer, startEnvironment } from "@openenv-ts/providers";
import { makeRemovable, renderLabels } from "@openenv-ts/providers/internal";
import type { Manifest } from "@openenv-ts/providers/manifest";
import { runDocker } from "../../image/docker.js";
import { findInside } from "./find-inside.js";

type Validation = NonNullable<Manifest["validation"]>;

const BUILD_MS = 600_000;
const START_MS = 60_000;
const COMMAND_MS = 30_000;
const PORT = 8000;
export const MAX_PROCESSES = 256;
export const USER_ID = 65_532;

/** Builds the image that the package declares, with a unique name that disposal removes. */
export async function buildImage(
  dir: string,
  { dockerfile, context }: NonNullable<Validation["execution"]>,
  signal: AbortSignal,
): Promise<{ name: string } & AsyncDisposable> {
  const file = await findInside(dir, dockerfile, "dockerfile");
  const name = randomName();
  const args = ["build", "--quiet", "--force-rm", "--tag", name, "--file", file];
  await runDocker([...args, await findInside(dir, context, "context")], { timeoutMs: BUILD_MS, signal });
  const remove = async (): Promise<void> => {
    // The image is not removed by its ID: an image that the user has built from the same files has the same ID.
    await runDocker(["image", "rm", name], { timeoutMs: COMMAND_MS }).catch(() => {});
  };
  return { name, [Symbol.asyncDispose]: remove };
}

export interface Container extends StartedServer {
  readonly name: string;
  /** Its IP address in its network. */
  readonly address: string;
}

export interface ContainerTask {
  image: string;
  validation: Validation;
  env: Readonly<Record<string, string>>;
  /** Use an internal network without access to others; otherwise the default network of the engine. */
  offline: boolean;
  signal: AbortSignal;
}

/**
 * Starts the image with minimal rights: no root, no capabilities, only in-memory file systems that are writable (/tmp,
 * and 64 MB of /dev/shm), and the declared resources.
 */
export async function startContainer({ image, validation, env, offline, signal }: ContainerTask): Promise<Container> {
  const name = randomName();
  let address = "";
  const started = await startEnvironment("docker", { image, env, timeoutMs: START_MS, signal }, async (start) => {
    const command = { timeoutMs: COMMAND_MS, signal: start.signal };
    const unsignalled = { timeoutMs: COMMAND_MS };
    const labels = Object.entries(renderLabels("docker", image)).flatMap(([key, value]) => [
      "--label",
      `${key}=${value}`,
    ]);
    if (offline) {
      await makeRemovable(
        start,
        () => runDocker(["network", "create", "--internal", ...labels, name], unsignalled),
        () => remove(["network", "rm", name]),
      );
    }
    const network = offline ? ["--network", name] : ["--publish", `127.0.0.1::${PORT}`];
    const variables = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
    const rights = renderRights(validation);
    const task = ["--name", name, ...labels, ...rights, ...network, ...variables, image];
    await makeRemovable(
      start,
      () => runDocker(["run", "--detach", ...task], unsignalled),
      () => remove(["rm", "--force", "--volumes", name]),
    );
    const withErrors = { timeoutMs: COMMAND_MS, withErrors: true };
    const logs = (): Promise<string> => runDocker(["logs", "--tail", "200", name], withErrors).catch(String);
    start.running({ logs });
    const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    address = await runDocker(["inspect", "--format", format, name], command);
    const published = offline ? `${address}:${PORT}` : await runDocker(["port", name, `${PORT}/tcp`], command);
    return { url: `http://${published.split("\n")[0]}`, logs, ended: (until) => waitForEnd(name, until) };
  });
  return { ...started, name, address };
}

function randomName(): string {
  return `openenv-validate-${randomBytes(6).toString("hex")}`;
}

/** Resolves when the container exits; never resolves after an abort or a timeout. */
async function waitForEnd(name: string, signal: AbortSignal): Promise<string> {
  try {
    return `the container exited with code ${await runDocker(["wait", name], { timeoutMs: START_MS, signal })}`;
  } catch {
    return new Promise(() => {});
  }
}

/** Ignores objects that no longer exist. */
async function remove(args: readonly string[]): Promise<void> {
  await runDocker(args, { timeoutMs: COMMAND_MS }).catch((error: Error) => {
    if (!/no such|not found/i.test(error.message)) throw error;
  });
}

function renderRights({ resources }: Validation): string[] {
  const { cpu, memory_mb, disk_mb } = resources;
  return [
    ...["--init", "--read-only", "--user", `${USER_ID}:${USER_ID}`],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", String(MAX_PROCESSES)],
    ...["--cpus", String(cpu), "--memory", `${memory_mb}m`, "--memory-swap", `${memory_mb}m`],
    ...["--tmpfs", `/tmp:rw,nosuid,nodev,size=${disk_mb}m,mode=1777`],
  ];
}

/** The result of a connection from one container to a listening port of another: `silence` when packets are dropped. */
export async function reaches(from: Container, to: Container, signal: AbortSignal): Promise<Reach> {
  const script =
    `const socket = require("net").connect({ host: ${JSON.stringify(to.address)}, port: ${PORT}, timeout: ${PROBE_MS} });` +
    `socket.on("connect", () => end("connected")).on("error", ({ code }) => end(code)).on("timeout", () => end("silence"));` +
    `function end(what) { process.stdout.write(what); process.exit(); }`;
  const command = { timeoutMs: COMMAND_MS, signal };
  const output = await runDocker(["exec", from.name, "node", "-e", script], command).catch(() => "");
  if (output === "connected") return "yes";
  if (output === "silence") return "silence";
  return ["ENETUNREACH", "EHOSTUNREACH"].includes(output) ? "no" : "unclear";
}

export type Reach = "yes" | "no" | "silence" | "unclear";

const PROBE_MS = 2_000;
