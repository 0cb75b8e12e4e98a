import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

/** Flags of installs in tests: quiet, and from the cache if possible. */
export const INSTALL_FLAGS = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];

/** Runs npm in a folder until it exits; fails with its output. */
export async function npm(cwd: string, ...args: string[]): Promise<{ stdout: string }> {
  try {
    return await promisify(execFile)("npm", args, { cwd, env: cleanEnv(), maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`npm ${args.join(" ")}\n${stdout}${stderr}`);
  }
}

/** The environment without the settings that npm passes to the tests. */
export function cleanEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_|^VITEST|^NODE_ENV$|^FORCE_COLOR$/i.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: "1" };
}

export interface StartedProgram extends AsyncDisposable {
  /** Resolves with the first match in the output; fails when the program ends without a match. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Starts a program in its own process group, without the settings of the tests. */
export function startProgram(cwd: string, command: string[], env: Record<string, string> = {}): StartedProgram {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { cwd, env: { ...cleanEnv(), ...env }, detached: true });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part) => (text += part));
  const exited = once(child, "close");
  return {
    async printed(pattern) {
      for (let ended = false; ; ) {
        const match = pattern.exec(text);
        if (match) return match;
        if (ended) throw new Error(`ended without ${pattern}:\n${text}`);
        const news = [child.stdout, child.stderr].map((stream) => once(stream, "data"));
        await Promise.race([...news, exited.then(() => (ended = true))]);
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
      await exited;
    },
  };
}
