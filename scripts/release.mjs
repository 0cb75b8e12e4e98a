/**
 * `npm run release -- <command>`, before and for a release:
 * - `check` fails while an address is missing in the root package.json, a published package is not ready, or a report that
 *   pages quote is old.
 * - `metadata` copies the addresses of the root package.json into the published packages.
 * - `version` sets the version of all packages from the changesets, and updates what refers to it.
 * - `publish` checks, builds and publishes.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyMetadata, findDifferences, findMissing, report } from "./release-check.mjs";
import { follow } from "./release-version.mjs";
import { ROOT } from "./root.mjs";
import { setup } from "./setup.mjs";

const CHANGESETS = "node_modules/@changesets/cli/bin.js";
const COMMANDS = {
  check: () => {
    const isReady = report([...findMissing(ROOT), ...findDifferences(ROOT)]);
    const claims = ["benchmarks/claims/claims.mjs", "--release"];
    const { status } = spawnSync(process.execPath, claims, { cwd: ROOT, stdio: "inherit" });
    process.exitCode ||= status ?? 1;
    return isReady && status === 0;
  },
  version: () => {
    run(process.execPath, CHANGESETS, "version");
    follow(ROOT);
    run("npm", "install", "--package-lock-only");
    run(process.execPath, "scripts/platforms.mjs");
    run(process.execPath, "scripts/template-lock.mjs");
  },
  publish: async () => {
    if (!COMMANDS.check()) return;
    await setup();
    run(process.execPath, CHANGESETS, "publish");
  },
  metadata: () => copyMetadata(ROOT),
};

const [command] = process.argv.slice(2);
if (Object.hasOwn(COMMANDS, command ?? "")) {
  await COMMANDS[command]();
} else {
  process.stderr.write(`Use: npm run release -- ${Object.keys(COMMANDS).join("|")}\n`);
  process.exitCode = 2;
}

function run(program, ...args) {
  execFileSync(program, args, { cwd: ROOT, stdio: "inherit" });
}
