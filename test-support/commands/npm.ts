import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

/** How tests install: quietly, and from the cache where it can be. */
export const INSTALL_FLAGS = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];

/** Runs npm in a folder as its author would, to its end; fails with what it printed. */
export async function npm(cwd: string, ...args: string[]): Promise<{ stdout: string }> {
  try {
    return await promisify(execFile)("npm", args, { cwd, env: cleanEnv(), maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`npm ${args.join(" ")}\n${stdout}${stderr}`);
  }
}

/** Without the settings that an npm around the tests hands down. */
export function cleanEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_|^VITEST|^NODE_ENV$|^FORCE_COLOR$/i.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: "1" };
}

export interface StartedProgram extends AsyncDisposable {
  /** Resolves with the first match in what was printed; fails when the program ends without it. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** A program with all that it starts, in its own process group and without the settings of the tests. */
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
