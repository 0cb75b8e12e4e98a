/** Scripts in processes of their own, as a blocking client is used; they load the built package. */
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { counterModule, createProject, type Project } from "../test-support/command-line.js";
import { type Hub, startHub } from "../test-support/hub/hub-server.js";
import { useServers } from "../test-support/servers.js";

const PACKAGE = join(import.meta.dirname, "..");
const servers = useServers();
let hub: Hub;
let project: Project;
beforeEach(async () => {
  hub = await startHub();
  project = await createProject();
});
afterEach(async () => {
  await project[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

/** Runs the script and returns the JSON lines that it told. */
async function play(script: string): Promise<unknown[]> {
  const source = `
    import { fromEnvSync, fromHubSync } from "openenv-ts/sync";
    import { processProvider } from "openenv-ts/providers";
    const tell = (value) => console.log(JSON.stringify(value));
    const failure = (call) => { try { call(); } catch (error) { return error; } };
    ${script}`;
  const env = {
    ...process.env,
    HF_ENDPOINT: hub.url,
    HF_TOKEN: hub.token,
    OPENENV_CACHE: join(project.dir, "cache"),
    OPENENV_STATE_DIR: join(project.dir, "state"),
  };
  const args = ["--input-type=module", "--eval", source];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: PACKAGE, timeout: 240_000, env });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

const processes = () => readdir(join(project.dir, "state", "processes"));

describe("fromHubSync", () => {
  test("runs a repository without a promise, and close ends the process", async () => {
    await hub.addSpace("author/counter", { "package.json": '{ "type": "module" }', "environment.ts": counterModule() });
    const told = await play(`
      const env = fromHubSync("author/counter", { useDocker: false, provider: processProvider() });
      env.reset();
      tell(env.step({ amount: 2 }).observation);
      env.close();
      env.close();`);
    expect(told).toEqual([{ count: 2 }]);
    expect(await processes()).toEqual([]);
  }, 300_000);

  test("uses a running Space, and tells a private one the token", async () => {
    const server = await servers.start();
    await hub.addSpace("author/counter", {}, { host: server.url, private: true });
    const told = await play(`
      const env = fromEnvSync(process.env.HF_ENDPOINT + "/spaces/author/counter");
      tell(env.reset({ start: 3 }).observation);
      env.close();`);
    expect(told).toEqual([{ count: 3 }]);
    expect((await fetch(`${server.url}/health`)).ok).toBe(true);
  }, 300_000);

  test("throws what fromHub throws", async () => {
    await hub.addSpace("author/asleep", {}, { stage: "SLEEPING" });
    const told = await play(`
      tell(failure(() => fromHubSync("author/none")).code);
      tell(failure(() => fromHubSync(process.env.HF_ENDPOINT + "/spaces/author/asleep")).code);
      tell(failure(() => fromHubSync("author/none", { signal: 1 })).code);
      tell(failure(() => fromHubSync("author/none", { provider: { name: "own", start() {} } })).message);`);
    expect(told).toEqual([
      "SOURCE_NOT_FOUND",
      "SPACE_NOT_RUNNING",
      "INVALID_CONFIG",
      expect.stringContaining("The own provider has no `recipe`"),
    ]);
  }, 300_000);
});
