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
export const MOST_PROCESSES = 256;
export const USER_ID = 65_532;

/** Builds the image that the package declares, by a name of its own that disposal takes away again. */
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
    // Not by its id: what the user has built of the same files is the same image, with another name.
    await runDocker(["image", "rm", name], { timeoutMs: COMMAND_MS }).catch(() => {});
  };
  return { name, [Symbol.asyncDispose]: remove };
}

export interface Container extends StartedServer {
  readonly name: string;
  /** Its address in the network it is in. */
  readonly address: string;
}

export interface ContainerTask {
  image: string;
  validation: Validation;
  env: Readonly<Record<string, string>>;
  /** In a network that leads nowhere; else in the engine's own. */
  offline: boolean;
  signal: AbortSignal;
}

/**
 * Starts the image with as few rights as a validator gives: no root, nothing to write to but memory (a /tmp, and a
 * /dev/shm of 64 MB), no capability, the declared share of the machine.
 */
export async function startContainer({ image, validation, env, offline, signal }: ContainerTask): Promise<Container> {
  const name = randomName();
  let address = "";
  const started = await startEnvironment("docker", { image, env, timeoutMs: START_MS, signal }, async (start) => {
    const command = { timeoutMs: COMMAND_MS, signal: start.signal };
    const begin = { timeoutMs: COMMAND_MS };
    const labels = Object.entries(renderLabels("docker", image)).flatMap(([key, value]) => [
      "--label",
      `${key}=${value}`,
    ]);
    if (offline) {
      await makeRemovable(
        start,
        () => runDocker(["network", "create", "--internal", ...labels, name], begin),
        () => remove(["network", "rm", name]),
      );
    }
    const network = offline ? ["--network", name] : ["--publish", `127.0.0.1::${PORT}`];
    const variables = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
    const rights = renderRights(validation);
    const task = ["--name", name, ...labels, ...rights, ...network, ...variables, image];
    await makeRemovable(
      start,
      () => runDocker(["run", "--detach", ...task], begin),
      () => remove(["rm", "--force", "--volumes", name]),
    );
    const asked = { timeoutMs: COMMAND_MS, withErrors: true };
    const logs = (): Promise<string> => runDocker(["logs", "--tail", "200", name], asked).catch(String);
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

/** Never resolves while it runs, nor once nobody waits any longer. */
async function waitForEnd(name: string, signal: AbortSignal): Promise<string> {
  try {
    return `the container exited with code ${await runDocker(["wait", name], { timeoutMs: START_MS, signal })}`;
  } catch {
    return new Promise(() => {});
  }
}

/** What is gone already is no failure. */
async function remove(args: readonly string[]): Promise<void> {
  await runDocker(args, { timeoutMs: COMMAND_MS }).catch((error: Error) => {
    if (!/no such|not found/i.test(error.message)) throw error;
  });
}

function renderRights({ resources }: Validation): string[] {
  const { cpu, memory_mb, disk_mb } = resources;
  return [
    ...["--init", "--read-only", "--user", `${USER_ID}:${USER_ID}`],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", String(MOST_PROCESSES)],
    ...["--cpus", String(cpu), "--memory", `${memory_mb}m`, "--memory-swap", `${memory_mb}m`],
    ...["--tmpfs", `/tmp:rw,nosuid,nodev,size=${disk_mb}m,mode=1777`],
  ];
}

/** Whether a container can reach the port of another one that answers: `silence` where what it sends is lost. */
export async function reaches(from: Container, to: Container, signal: AbortSignal): Promise<Reach> {
  const script =
    `const socket = require("net").connect({ host: ${JSON.stringify(to.address)}, port: ${PORT}, timeout: ${PROBE_MS} });` +
    `socket.on("connect", () => end("connected")).on("error", ({ code }) => end(code)).on("timeout", () => end("silence"));` +
    `function end(what) { process.stdout.write(what); process.exit(); }`;
  const command = { timeoutMs: COMMAND_MS, signal };
  const said = await runDocker(["exec", from.name, "node", "-e", script], command).catch(() => "");
  if (said === "connected") return "yes";
  if (said === "silence") return "silence";
  return ["ENETUNREACH", "EHOSTUNREACH"].includes(said) ? "no" : "unclear";
}

export type Reach = "yes" | "no" | "silence" | "unclear";

const PROBE_MS = 2_000;
