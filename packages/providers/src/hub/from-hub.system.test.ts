import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type FromHubOptions, fromEnv, fromHub, swarmProvider } from "@openenv-ts/providers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { buildImage, listContainers, SERVERS, type TestImage } from "../../../../test-support/commands/images.js";
import { SMALL_PYTHON_PROJECT } from "../../../../test-support/commands/python-project.js";
import { type Hub, startHub } from "../../../../test-support/hub/hub-server.js";
import { requireDocker, requireRegistry, requireSwarm, requireUv } from "../../../../test-support/requirement.js";

const run = promisify(execFile);
const docker = await requireDocker();
const swarm = await requireSwarm();
const registry = await requireRegistry();
const uv = await requireUv();

let hub: Hub;
let scratch: string;
beforeEach(async () => {
  hub = await startHub();
  scratch = await mkdtemp(join(tmpdir(), "from-hub-"));
  vi.stubEnv("HF_ENDPOINT", hub.url);
  vi.stubEnv("HF_TOKEN", "");
  vi.stubEnv("HF_HOME", scratch);
  vi.stubEnv("OPENENV_CACHE", join(scratch, "cache"));
  vi.stubEnv("OPENENV_STATE_DIR", join(scratch, "state"));
  if (uv.available && uv.path !== "uv") vi.stubEnv("PATH", `${process.env["PATH"]}${delimiter}${dirname(uv.path)}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub[Symbol.asyncDispose]();
  await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
});

const fails = async (repo: string, options: FromHubOptions = {}): Promise<Error & { code?: string }> => {
  const outcome = await fromHub(repo, options).catch((error: unknown) => error as Error);
  if (!(outcome instanceof Error)) await outcome.close();
  expect(outcome).toBeInstanceOf(Error);
  return outcome as Error;
};

describe.skipIf(!docker.available || !registry.available)("a Space's image", () => {
  const OWN = `openenv.pid=${process.pid}`;
  const name = `${registry.path}/author-counter-env`;
  let image: TestImage;
  beforeAll(async () => {
    image = await buildImage(docker.path, SERVERS.counter);
    for (const tag of ["latest", "v2"]) {
      await run(docker.path, ["tag", image.name, `${name}:${tag}`]);
      await run(docker.path, ["push", "--quiet", `${name}:${tag}`]);
      await run(docker.path, ["image", "rm", `${name}:${tag}`]);
    }
  }, 120_000);
  afterAll(async () => {
    await image[Symbol.asyncDispose]();
    await run(docker.path, ["image", "rm", "--force", `${name}:latest`, `${name}:v2`]).catch(() => {});
  }, 60_000);
  beforeEach(() => hub.addSpace("author/Counter_Env", {}));

  test.each([{}, { tag: "v2" }])(
    "is pulled, started and stopped by close, with %j",
    async (options) => {
      const stages: string[] = [];
      const onProgress = (stage: string): number => stages.push(stage);
      const env = await fromHub("author/Counter_Env", { registry: registry.path, onProgress, ...options });
      await env.reset();
      expect((await env.step({ amount: 2 })).observation).toMatchObject({ count: 2 });
      expect(await listContainers(docker.path, OWN)).toHaveLength(1);
      await env.close();
      await env.close();
      expect(await listContainers(docker.path, OWN)).toEqual([]);
      expect(stages).toContain(`pulling ${name}:${options.tag ?? "latest"}`);
    },
    60_000,
  );

  test.skipIf(!swarm.available)(
    "is started as several by a provider that can",
    async () => {
      const options = { registry: registry.path, provider: swarmProvider(), replicas: 2 };
      await using env = await fromHub("author/Counter_Env", options);
      expect((await env.reset()).observation).toMatchObject({ count: 0 });
    },
    60_000,
  );

  test("that is not in the registry says what else there is", async () => {
    const missing = await fails("author/Counter_Env", { registry: registry.path, tag: "none" });
    expect(missing).toMatchObject({ code: "SOURCE_NOT_FOUND" });
    expect(missing.message).toMatch(/author-counter-env:none.*useDocker: false/s);
    await hub.addSpace("author/secret", {}, { private: true });
    const own = await fails("author/secret", { registry: registry.path, token: hub.token });
    expect(own.message).toContain(`docker login ${registry.path}`);
  }, 60_000);
});

describe("a Space's repository", () => {
  test.skipIf(!uv.available)(
    "is run with uv when it is one of Python",
    async () => {
      await hub.addSpace("author/small", SMALL_PYTHON_PROJECT);
      await using env = await fromEnv("author/small", { useDocker: false });
      await env.reset();
      expect((await env.step({ message: "hi" })).observation).toEqual({ message: "hi" });
    },
    120_000,
  );
});
