import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ConfigError } from "openenv-ts/internal";
import { exit } from "../terminal/output.js";

/** The runtimes that serve environments, and how each starts a script. */
const COMMANDS = {
  node: ["node"],
  bun: ["bun"],
  deno: ["deno", "run", "--allow-all", "--unstable-no-legacy-abort"],
} as const;

/**
 * Bun runs its garbage collection later on a machine with more memory: on one with 24 GB a server under attack took up to
 * 1.8 GB instead of 1.3. This does not limit the memory of a server.
 */
const VARIABLES = { BUN_JSC_forceRAMSize: String(2 ** 30) };

export type RuntimeName = keyof typeof COMMANDS;
export const RUNTIMES = Object.keys(COMMANDS) as RuntimeName[];

/** Set for a command that another runtime has started: it ends when that process is gone. */
export const STARTED_BY = "OPENENV_STARTED_BY";

/** The runtime that runs this command. */
export function runtimeHere(): RuntimeName {
  if ("Bun" in globalThis) return "bun";
  return "Deno" in globalThis ? "deno" : "node";
}

/**
 * Runs this command again in another runtime, passes signals on to it, and exits as it does.
 * @throws ConfigError when the runtime is not installed.
 */
export async function runIn(runtime: RuntimeName): Promise<void> {
  const [file, ...args] = COMMANDS[runtime];
  const main = fileURLToPath(new URL("../../bin/openenv.js", import.meta.url));
  const env = { ...VARIABLES, ...process.env, [STARTED_BY]: String(process.pid) };
  // The child has another group: a terminal signals a group, and a second signal would end the server at once.
  const child = spawn(file, [...args, main, ...process.argv.slice(2)], { stdio: "inherit", env, detached: true });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", ({ message }) => {
      const advice = `install it, for example with: npm install ${runtime}`;
      reject(new ConfigError(`Cannot start ${file} for --runtime ${runtime}: ${message}; ${advice}`));
    });
    child.once("exit", (status) => resolve(status ?? 1));
  });
  exit(code);
}
