/** The packages as npm publishes them, from a registry on the loopback interface, in the hands of somebody else. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanEnv, startProgram } from "../../../test-support/commands/npm.js";
import { type NpmRegistry, startNpmRegistry } from "../../../test-support/other-servers/npm-registry.js";

const PACKAGES = join(import.meta.dirname, "../..");
/** npm installs for real. */
const TIME_LIMIT = { timeout: 300_000 };

let home: string;
let registry: NpmRegistry;
let env: Record<string, string>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "openenv-published-"));
  const upstream = await promisify(execFile)("npm", ["config", "get", "registry"], { env: cleanEnv() });
  registry = await startNpmRegistry(upstream.stdout.trim());
  // npx keeps what it has installed under a name: here nothing is left of an earlier run.
  env = { ...registry.env, npm_config_cache: join(home, "cache"), npm_config_audit: "false", npm_config_fund: "false" };
  for (const name of await readdir(PACKAGES)) await npm(join(PACKAGES, name), "publish", "--ignore-scripts");
}, TIME_LIMIT.timeout);
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
});

test(
  "npm create makes an environment that serves its page, and npx openenv inside of it is ours",
  TIME_LIMIT,
  async () => {
    await npm(home, "create", "--yes", "openenv-ts@latest", "my-env");
    const dir = join(home, "my-env");
    expect(await readdir(dir)).not.toContain("vendor");
    await npm(dir, "install");
    const { version } = JSON.parse(await readFile(join(PACKAGES, "cli/package.json"), "utf8")) as { version: string };
    expect((await npm(dir, "exec", "--", "openenv", "--version")).trim()).toBe(version);
    await using started = startProgram(dir, ["npm", "start"], { PORT: "0" });
    const [, url] = await started.printed(/at (http:\/\/[^\s/]+)/);
    const page = await fetch(`${url}/web/`);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("<script");
  },
);

test("npx @openenv-ts/cli serves a file outside of any project, with the page", TIME_LIMIT, async () => {
  const dir = join(home, "alone");
  await mkdir(dir);
  await writeFile(join(dir, "environment.mjs"), ENVIRONMENT);
  const serve = ["npx", "--yes", "@openenv-ts/cli", "serve", "environment.mjs", "--port", "0"];
  await using started = startProgram(dir, serve, env);
  const [, url] = await started.printed(/at (http:\/\/[^\s/]+)/);
  expect((await fetch(`${url}/web/`)).status).toBe(200);
});

test(
  "npm install openenv-ts brings at most 32 packages, and a server without the page or ORS says what to install",
  TIME_LIMIT,
  async () => {
    const dir = join(home, "server");
    await mkdir(dir);
    await writeFile(join(dir, "package.json"), '{ "private": true, "type": "module" }\n');
    await npm(dir, "install", "openenv-ts");
    const lock = JSON.parse(await readFile(join(dir, "node_modules/.package-lock.json"), "utf8")) as {
      packages: object;
    };
    expect(Object.keys(lock.packages).length).toBeLessThanOrEqual(32);
    await writeFile(join(dir, "environment.mjs"), ENVIRONMENT);
    await writeFile(join(dir, "app.mjs"), SERVE);
    await using started = startProgram(dir, [process.execPath, "app.mjs"]);
    const [, url] = await started.printed(/at (http:\/\/[^\s/]+)/);
    const page = await fetch(`${url}/web/`);
    expect(page.status).toBe(404);
    expect(await page.text()).toContain("npm install @openenv-ts/web");
    const ors = await fetch(`${url}/version`);
    expect([ors.status, await ors.text()]).toEqual([501, expect.stringContaining("npm install @openenv-ts/gateway")]);
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object };
    expect(Object.keys(paths)).not.toContain("/version");
  },
);

const ENVIRONMENT = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({ name: "count_env", action: z.object({}), observation: z.object({ count: z.int() }) });
export default defineEnvironment(contract, () => {
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: () => ({ observation: { count: ++count }, reward: 1, done: false }),
  };
});
`;
const SERVE = `
import { serve } from "openenv-ts/server";
import environment from "./environment.mjs";
const { url } = await serve(environment, { port: 0, webInterface: true, handleSignals: true });
console.log("at " + url);
`;

async function npm(cwd: string, ...args: string[]): Promise<string> {
  const options = { cwd, env: { ...cleanEnv(), ...env }, maxBuffer: 16 * 1024 * 1024 };
  try {
    return (await promisify(execFile)("npm", args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`npm ${args.join(" ")}\n${stdout}${stderr}`);
  }
}
