import { createRequire } from "node:module";
import { ConfigError } from "openenv-ts";

/** What serves one environment in a process of its own. @throws ConfigError where the command line is not installed. */
export function findServeScript(): string {
  try {
    return createRequire(import.meta.url).resolve("@openenv-ts/cli/serve-child");
  } catch (cause) {
    throw new ConfigError("Serving a folder needs @openenv-ts/cli; run: npm install @openenv-ts/cli", { cause });
  }
}
