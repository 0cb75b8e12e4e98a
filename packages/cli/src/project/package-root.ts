import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The name of this package. */
export const CLI = "@openenv-ts/cli";
/** The folder of this package: of a checkout, or inside of node_modules. */
export const CLI_ROOT = fileURLToPath(new URL("../../", import.meta.url)).replace(/[\\/]$/, "");

/** The folder of one of our packages, as this one finds it. */
export function packageRoot(name: string): string {
  return name === CLI ? CLI_ROOT : dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
}
