/** `npm test`: set-up, `npm run check`, then vitest with the given arguments. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./root.mjs";
import { setup } from "./setup.mjs";

await setup();
for (const args of [["scripts/check.mjs"], ["node_modules/vitest/vitest.mjs", "run", ...process.argv.slice(2)]]) {
  const { status } = spawnSync(process.execPath, args.with(0, join(ROOT, args[0])), { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
