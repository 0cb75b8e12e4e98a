#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`error: create-openenv-ts needs Node 20.19 or newer, and this is ${process.versions.node}\n`);
  process.exit(2);
}

// `npm create openenv-ts@latest my-env` is `openenv init my-env`. A static import would be loaded before the check.
const { main } = await import("@openenv-ts/cli/main");
await main(["init", ...process.argv.slice(2)]);
