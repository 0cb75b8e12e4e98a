import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "../project/bundle.js";

/**
 * Checks the types of an environment with the TypeScript and the tsconfig.json of its package.
 * @throws ConfigError with the compiler's errors, or naming what is missing.
 */
export async function checkTypes(file: string): Promise<void> {
  const config = findConfig(dirname(file));
  if (config === undefined)
    throw new ConfigError(`--check needs a tsconfig.json next to or above ${describePath(file)}.`);
  try {
    await promisify(execFile)(process.execPath, [findCompiler(config), "--noEmit", "--pretty", "false", "-p", config]);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { stdout = "", message } = error as Error & { stdout?: string };
    throw new ConfigError(`The types of ${describePath(dirname(config))} are wrong:\n${stdout || message}`);
  }
}

function findConfig(folder: string): string | undefined {
  const config = join(folder, "tsconfig.json");
  if (existsSync(config)) return config;
  return dirname(folder) === folder ? undefined : findConfig(dirname(folder));
}

function findCompiler(config: string): string {
  try {
    return join(dirname(createRequire(config).resolve("typescript/package.json")), "bin/tsc");
  } catch {
    throw new ConfigError(
      `--check needs TypeScript: npm install --save-dev typescript, in ${describePath(dirname(config))}.`,
    );
  }
}
