/**
 * `npm start`: set-up of what that needs, then the echo environment is served. The command line runs in this process, so that signals
 * reach the server itself and its exit code is ours.
 */
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./root.mjs";
import { setupServing } from "./setup.mjs";

await setupServing();
const bin = join(ROOT, "packages/cli/bin/openenv.js");
const environment = relative(process.cwd(), join(ROOT, "envs/echo"));
process.argv = [process.execPath, bin, "serve", environment, ...process.argv.slice(2)];
await import(pathToFileURL(bin).href);
