import { execFile } from "node:child_process";
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
