/** `npm run check`: runs all static checks in parallel. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ROOT } from "./root.mjs";
import { setup } from "./setup.mjs";

/** The slow steps come first. */
const STEPS = {
  "export map, from outside": ["scripts/checks/package.mjs"],
  "published packages": ["scripts/checks/published.mjs"],
  "dead exports": ["node_modules/knip/bin/knip.js", "--no-progress"],
  types: ["node_modules/typescript/bin/tsc", "-p", "tsconfig.check.json"],
  "lint and format": ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."],
  "layers and cycles": ["scripts/checks/layers.mjs"],
  "rooms of the layers": ["scripts/checks/rooms.mjs"],
  "names of the internal entry": ["scripts/checks/internal.mjs"],
  "functions and type names": ["scripts/checks/declarations.mjs"],
  "comments are sentences": ["scripts/checks/comments.mjs"],
  "commit subjects": ["scripts/checks/commits.mjs"],
  "neutral entries": ["scripts/checks/neutral.mjs"],
  "generated docs": ["scripts/docs.mjs", "--check"],
  "lock file of new environments": ["scripts/template-lock.mjs", "--check"],
  "claims of the docs": ["benchmarks/claims/claims.mjs"],
  "files of the repository": ["scripts/checks/files.mjs"],
  "metadata of published packages": ["scripts/release-check.mjs"],
  "size of the client": ["scripts/checks/size.mjs"],
  workflows: ["scripts/checks/workflows.mjs"],
};

await setup();
const queue = Object.entries(STEPS);
const failed = [];
await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker));
if (failed.length > 0) process.stderr.write(`check failed: ${failed.join(", ")}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;

async function worker() {
  for (let next = queue.shift(); next; next = queue.shift()) await run(...next);
}

/** Prints the complete output of a failed step, and only lines that begin with "note:" of a passing step. */
async function run(name, args) {
  const start = performance.now();
  const child = spawn(process.execPath, args.with(0, join(ROOT, args[0])), {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = await once(child, "close");
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const shown =
    code === 0
      ? output
          .split("\n")
          .filter((line) => line.startsWith("note:"))
          .join("\n")
      : output.trimEnd();
  if (code !== 0) failed.push(name);
  process.stdout.write(
    `${code === 0 ? "ok  " : "FAIL"} ${name}, ${seconds} s\n${shown && `${shown.replace(/^/gm, "     ")}\n`}`,
  );
}
