/** The built command line, run as a user runs it, in a separate folder and process, or called in this process. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { vi } from "vitest";

const BIN = join(import.meta.dirname, "../../packages/cli/bin/openenv.js");
const MAIN = join(import.meta.dirname, "../../packages/cli/dist/main.js");
/** Inside the repository, so that the user's `import "openenv-ts"` resolves. */
const SCRATCH = join(import.meta.dirname, "../../.cache/cli");

export interface Project extends AsyncDisposable {
  readonly dir: string;
  /** The file appears, or changes, with all of its text at once: who watches it never reads a part. */
  write(path: string, text: string): Promise<string>;
}

/** A folder with its own package.json and these files; removed on disposal. */
export async function createProject(files: Record<string, string> = {}): Promise<Project> {
  await mkdir(SCRATCH, { recursive: true });
  const dir = await mkdtemp(join(SCRATCH, "project-"));
  const project: Project = {
    dir,
    async write(path, text) {
      const file = join(dir, path);
      await mkdir(dirname(file), { recursive: true });
      const complete = join(SCRATCH, randomUUID());
      await writeFile(complete, text);
      await rename(complete, file);
      return file;
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  };
  await project.write("package.json", '{ "type": "module" }');
  for (const [path, text] of Object.entries(files)) await project.write(path, text);
  return project;
}

export interface CommandOptions {
  cwd: string;
  /** The Node that runs it; by default the one that runs the tests. */
  node?: string;
  env?: Record<string, string>;
  /** Standard input; empty by default. */
  input?: string;
  /** In a process group of its own, so that a signal can be sent to the group, as a terminal does. */
  detached?: boolean;
  /** How many files the process, and each one it starts, may have open (`ulimit -n`). */
  openFiles?: number;
}

export interface Running extends AsyncDisposable {
  readonly process: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>;
  /** Resolves with the first match in what was printed on either stream; fails when the process ends without it. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

export function startCommand(args: readonly string[], options: CommandOptions): Running {
  const { cwd, node = process.execPath, env = {}, input = "", detached = false, openFiles } = options;
  const command = openFiles === undefined ? [] : ["bash", "-c", `ulimit -n ${openFiles}; exec "$0" "$@"`];
  const [file = node, ...rest] = [...command, node, BIN, ...args];
  const child = spawn(file, rest, { cwd, env: { ...process.env, ...env }, detached });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => (text[name] += chunk));
  }
  child.stdin.on("error", () => {}).end(input);
  const exited = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string);
  return {
    process: child,
    get stdout() {
      return text.stdout;
    },
    get stderr() {
      return text.stderr;
    },
    exited,
    async printed(pattern) {
      for (let ended = false; ; ) {
        const match = pattern.exec(text.stdout) ?? pattern.exec(text.stderr);
        if (match) return match;
        if (ended) throw new Error(`ended without ${pattern}:\n${text.stdout}\n${text.stderr}`);
        const news = [once(child.stdout, "data"), once(child.stderr, "data"), exited.then(() => (ended = true))];
        await Promise.race(news);
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Runs a command to its end. */
export async function runCommand(args: readonly string[], options: CommandOptions) {
  const running = startCommand(args, options);
  const code = await running.exited;
  return { code, stdout: running.stdout, stderr: running.stderr };
}

/** Calls a command that ends by itself, in this process: many times faster than {@link runCommand}. */
export async function callCommand(
  args: readonly string[],
  { cwd, env = {} }: Pick<CommandOptions, "cwd" | "env">,
): Promise<{ code: number | string; stdout: string; stderr: string }> {
  // The compiler remembers the folder in which it was loaded, and that of a project goes away.
  await import("esbuild");
  const { main } = (await import(
    /* @vite-ignore */ pathToFileURL(MAIN).href
  )) as typeof import("../../packages/cli/src/main.js");
  const text = { stdout: "", stderr: "" };
  const before = { dir: process.cwd(), env: Object.keys(env).map((name) => [name, process.env[name]] as const) };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((chunk: unknown, ...rest: unknown[]) => {
      text[name] += chunk;
      for (const callback of rest) if (typeof callback === "function") callback();
      return true;
    }),
  );
  let exit = (_code: number): void => {};
  const exited = new Promise<number>((resolve) => {
    exit = resolve;
  });
  const exitSpy = vi.spyOn(process, "exit").mockImplementation((code) => exit(Number(code ?? 0)) as never);
  try {
    process.chdir(cwd);
    Object.assign(process.env, env);
    const code = await Promise.race([exited, main(args).then(() => Promise.race([exited, 0]))]);
    return { code, ...text };
  } finally {
    for (const spy of [...spies, exitSpy]) spy.mockRestore();
    process.chdir(before.dir);
    for (const [name, value] of before.env) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** An environment module in TypeScript that counts; `step` decides what one step adds. */
export function counterModule(amount = "amount"): string {
  return `
    import { defineContract, defineEnvironment } from "openenv-ts";
    import * as z from "zod";

    const counter = defineContract({
      name: "counter_env",
      action: z.object({ amount: z.int() }),
      observation: z.object({ count: z.int() }),
    });

    export default defineEnvironment(counter, () => {
      let count: number = 0;
      return {
        reset: () => ({ observation: { count: (count = 0) } }),
        step: ({ amount }) => ({ observation: { count: (count += ${amount}) }, reward: 1, done: count >= 10 }),
      };
    });
  `;
}
