#!/usr/bin/env node
import * as module from "node:module";
import { join } from "node:path";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`error: openenv needs Node 20.19 or newer, and this is ${process.versions.node}\n`);
  process.exit(2);
}

// Since Node 22.8: starting a server takes a sixth less processor time. Workers inherit the setting. Node's own folder
// below /tmp is not used, because another user of the machine may have put code there.
const { XDG_CACHE_HOME, HOME, USERPROFILE } = process.env;
const home = HOME || USERPROFILE;
const caches = XDG_CACHE_HOME || (home && join(home, ".cache"));
// A process may have no home.
if (caches) process.env.NODE_COMPILE_CACHE ??= join(caches, "openenv-ts");
if (process.env.NODE_COMPILE_CACHE) module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE);

const { main } = await import("../dist/main.js").catch((error) => {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  process.stderr.write(`error: ${error.message}; in a clone of openenv-ts, run: npm run build\n`);
  process.exit(2);
});
await main(process.argv.slice(2));
