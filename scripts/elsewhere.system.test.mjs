/** The commands of the repository in an unusual environment. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "./root.mjs";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
const mayRunNode = spawnSync(process.execPath, ["--version"], user).status === 0;

test("npm start and a test run below a path with a space and é, without root, with NODE_ENV=production", {
  timeout: 600_000,
}, async ({ skip }) => {
  if (!mayRunNode) skip("another user may not run this Node");
  const home = mkdtempSync(join(tmpdir(), "openenv é "));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }));
  const copy = join(home, "a clone");
  for (const file of execFileSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" }).split("\0")) {
    if (file) cpSync(join(ROOT, file), join(copy, file));
  }
  if (isRoot) giveAway(home);
  const registry = execFileSync("npm", ["config", "get", "registry"], { cwd: home, encoding: "utf8" }).trim();
  const env = { PATH: process.env.PATH, HOME: home, NODE_ENV: "production", npm_config_registry: registry, PORT: "0" };
  for (const name of ["NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "NO_PROXY"]) env[name] ??= process.env[name];
  const options = { cwd: copy, env, ...user };

  const server = spawn("npm", ["start"], options);
  onTestFinished(() => void server.kill("SIGTERM"));
  const url = await printed(server, /at (http:\S+)/);
  const headers = { "content-type": "application/json" };
  const body = '{"action":{"message":"hello"}}';
  const answer = await fetch(`${url}/step`, { method: "POST", headers, body });
  expect(await answer.json()).toMatchObject({ observation: { echoed_message: "hello" } });
  expect((await fetch(`${url}/web/`)).status).toBe(200);
  server.kill("SIGTERM");
  if (server.exitCode === null) await once(server, "exit");

  // npm start builds without declarations: what it made could not compile.
  const init = spawnSync("npx", ["openenv", "init", "chess"], { ...options, encoding: "utf8" });
  expect(init.stderr).toMatch(
    /^error: packages\/\w+ is not built: \.\/dist\/\S+\.d\.ts is missing; run: npm run build$/m,
  );
  expect([init.status, existsSync(join(copy, "chess"))]).toEqual([2, false]);

  const one = spawn("npx", ["vitest", "run", "packages/cli/src/project/bundle.test.ts"], options);
  expect(await printed(one, /Tests +(.*)\n/)).toMatch(/^\d+ passed/);
});

/** Reads the output of a process until it matches, and returns the first group. */
async function printed(child, pattern) {
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => (output += chunk));
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    output += chunk;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
    const found = pattern.exec(output.replace(/\x1b\[\d+m/g, ""));
    if (found) return found[1];
  }
  throw new Error(`exited without printing ${pattern}:\n${output}`);
}

function giveAway(folder) {
  chownSync(folder, NOBODY, NOBODY);
  for (const entry of readdirSync(folder, { recursive: true })) chownSync(join(folder, entry), NOBODY, NOBODY);
}
