/**
 * `npm test`, `npm run test:system` and `npm run test:cluster`: runs the setup, then Vitest with these projects of vitest.config.ts and the given
 * arguments. `npm test` also runs `npm run check`.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./root.mjs";
import { setup } from "./setup.mjs";

const [projects, ...args] = process.argv.slice(2);
await setup();
if (projects === "core") run("scripts/check.mjs");
run("node_modules/vitest/vitest.mjs", "run", "--project", projects, ...args);

function run(script, ...rest) {
  const { status } = spawnSync(process.execPath, [join(ROOT, script), ...rest], { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
