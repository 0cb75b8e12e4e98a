/** Sessions of the coding environment for tests, and what can be seen of their processes from outside. */
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "openenv-ts/client";
import { codeMetadata, type Language } from "../models.js";
import { prepareSandbox } from "../sandbox/sandbox.js";
import { defineCoding } from "../server/coding-environment.js";
import { readConfig } from "../server/config.js";

/** The environment with these variables, as a server would start it. */
export async function prepareCoding(variables: Record<string, string> = {}) {
  const here = { SANDBOX_BUBBLEWRAP: process.env["BUBBLEWRAP"], SANDBOX_PYTHON: process.env["SANDBOX_PYTHON"] };
  const config = readConfig({ ...here, SANDBOX_TIMEOUT: "20", ...variables });
  const sandbox = await prepareSandbox(config);
  return { sandbox, environment: defineCoding(sandbox, config.limits.timeoutSeconds) };
}

export type Coding = Awaited<ReturnType<typeof prepareCoding>>["environment"];
export type SandboxSession = Awaited<ReturnType<typeof openSession>>;

/** `run` gives one flat answer: the observation with the metadata and the reward. */
export async function openSession(environment: Coding) {
  const env = await connect(environment);
  await env.reset();
  const run = async (code: string, language: Language = "python") => {
    const { observation, metadata, reward } = await env.step({ code, language });
    return { ...observation, ...codeMetadata.parse(metadata), reward };
  };
  return { env, run, [Symbol.asyncDispose]: () => env.close() };
}

/** The marks of the sandboxes that this process has started and that have not ended. */
export function sandboxMarks(): string[] {
  const children = listProcesses().filter(({ parent }) => parent === process.pid);
  return children.map(({ pid }) => markOf(pid)).filter((mark) => mark !== undefined);
}

/** Processes on this machine that carry a mark, wherever they have gone. */
export function processesMarked(mark: string): number[] {
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => markOf(pid) === mark);
}

function markOf(pid: number): string | undefined {
  return /(?:^|\0)OPENENV_SANDBOX=([^\0]+)/.exec(readText(`/proc/${pid}/environ`))?.[1];
}

function listProcesses(): { pid: number; parent: number }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      const status = readText(`/proc/${name}/stat`);
      const parent = Number(status.slice(status.lastIndexOf(")")).split(" ")[2]);
      return { pid: Number(name), parent };
    });
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
