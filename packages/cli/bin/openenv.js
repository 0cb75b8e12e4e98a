#!/usr/bin/env node
import * as module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// Since Node 22.8: starting a server takes a sixth less processor time. Workers inherit the setting. Node's own folder
// below /tmp would do, but another user of the machine may have put code there.
const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
const folder = (process.env.NODE_COMPILE_CACHE ??= join(caches, "openenv-ts"));
module.enableCompileCache?.(folder);

const { main } = await import("../dist/main.js").catch((error) => {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  process.stderr.write(`error: ${error.message}; in a clone of openenv-ts, run: npm run build\n`);
  process.exit(2);
});
await main(process.argv.slice(2));
