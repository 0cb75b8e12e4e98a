import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Node ${process.versions.node} is not supported; install Node 20.19 or newer.\n`);
  process.exit(2);
}

/** The root folder of the repository. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
