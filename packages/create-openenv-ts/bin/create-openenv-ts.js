#!/usr/bin/env node
import { main } from "@openenv-ts/cli/main";

// `npm create openenv-ts@latest my-env` is `openenv init my-env`.
await main(["init", ...process.argv.slice(2)]);
