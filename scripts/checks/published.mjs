/** Published packages as publint and "are the types wrong?" see them, from the tarball that npm would publish. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { published } from "../release-check.mjs";
import { ROOT } from "../root.mjs";

const ATTW = join(ROOT, "node_modules/@arethetypeswrong/cli/dist/index.js");
const folder = mkdtempSync(join(tmpdir(), "openenv-published-"));
try {
  for (const name of published(ROOT)) {
    const pack = ["pack", "--json", "--silent", "--pack-destination", folder];
    const [{ filename }] = JSON.parse(execFileSync("npm", pack, { cwd: join(ROOT, name), encoding: "utf8" }));
    const tarball = join(folder, filename);
    await lint(name, new Uint8Array(readFileSync(tarball)).buffer);
    // The packages are ESM only, for Node 20 and newer: require() of ESM and the resolution of Node 10 are no targets.
    attempt(name, [ATTW, tarball, "--profile", "esm-only", "--no-emoji", "--format", "ascii"]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function lint(name, tarball) {
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
  for (const message of messages) {
    // The package.json of a template becomes the root of a package when it is copied.
    if (message.args?.filePath?.startsWith("./templates/")) continue;
    // This condition is for the repository itself, where the sources are.
    if (message.path?.includes("openenv-source")) continue;
    report(name, formatMessage(message, pkg, { color: false }) ?? message.code);
  }
}

function attempt(name, args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) report(name, `${stdout}${stderr}`);
}

function report(name, problem) {
  process.stdout.write(`${name}: ${problem}\n`);
  process.exitCode = 1;
}
