import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { createProject, runCommand } from "../../../../test-support/commands/command-line.js";
import { createNpmImage, docker } from "../../../../test-support/commands/npm-image.js";
import { createSandboxImage } from "../../../../test-support/commands/sandbox-image.js";
import { requireBubblewrap, requireDocker } from "../../../../test-support/requirement.js";
import { connect } from "../../../openenv/src/client/index.js";
import { dockerProvider } from "../../../providers/src/index.js";
import { readManifest } from "../../../providers/src/manifest/read-manifest.js";
import { stageSpace } from "../push/stage-space.js";
import { standaloneFolder } from "./standalone-folder.js";

const ROOT = join(import.meta.dirname, "../../../..");
const ENVS = join(ROOT, "envs");
const BASE = "node:20-slim";
/** npm packs and resolves packages, which takes long while other tests run. */
const LIMIT = { timeout: 600_000 };
const engine = await requireDocker();
const bubblewrap = await requireBubblewrap();

interface Lock {
  packages: Record<string, { version?: string; resolved?: string }>;
}

async function readLock(dir: string): Promise<Lock> {
  return JSON.parse(await readFile(join(dir, "package-lock.json"), "utf8")) as Lock;
}

test("a package of a workspace gets a lock file with the versions of the workspace", LIMIT, async () => {
  await using folder = await standaloneFolder(join(ENVS, "wordle"));
  const [{ packages }, whole] = [await readLock(folder.dir), await readLock(ROOT)];
  expect(packages["node_modules/openenv-ts"]?.resolved).toMatch(/^file:vendor\/openenv-ts-.*\.tgz$/);
  for (const name of ["node_modules/zod", "node_modules/word-list", "node_modules/typescript"]) {
    expect(packages[name]?.version).toBe(whole.packages[name]?.version);
  }
  expect(packages).not.toHaveProperty("node_modules/vega-lite");
  // Exits with an error if package.json and the lock file disagree.
  await promisify(execFile)("npm", ["ls", "--package-lock-only", "--all"], { cwd: folder.dir });
});

test("a folder with a lock file is built in place", async () => {
  await using project = await createProject({ "package-lock.json": "{}" });
  await using folder = await standaloneFolder(project.dir);
  expect(folder.dir).toBe(project.dir);
});

test("a dependency on a workspace package is one clear error", async () => {
  const packages = { "envs/game": {}, "node_modules/@me/shared": { resolved: "shared", link: true } };
  await using project = await createProject({
    "package-lock.json": JSON.stringify({ lockfileVersion: 3, packages }),
    "envs/game/package.json": JSON.stringify({ name: "game", dependencies: { "@me/shared": "1.0.0" } }),
  });
  await expect(standaloneFolder(join(project.dir, "envs/game"))).rejects.toThrow(
    "The dependency @me/shared is a package of the same workspace and not available in an image; pack it into vendor/ and " +
      "depend on file:vendor/me-shared.tgz, or on a published version.",
  );
});

test("the published files can be built on their own", LIMIT, async () => {
  const dir = join(ENVS, "echo");
  await using staged = await stageSpace({ dir, manifest: await readManifest(dir) });
  const some = ["Dockerfile", "package-lock.json", "client.ts", "echo_env/client.py"];
  expect(staged.paths).toEqual(
    expect.arrayContaining([...some, expect.stringMatching(/^vendor\/openenv-ts-.*\.tgz$/)]),
  );
});

test.each(["benchmark", "echo", "incident", "sql", "support", "wordle"])(
  "the Dockerfile of %s is the one of openenv init",
  async (name) => {
    const [own, template] = [join(ENVS, name), join(ROOT, "packages/cli/templates/env")].map((dir) =>
      readFile(join(dir, "server/Dockerfile"), "utf8"),
    );
    expect(await own).toBe(await template);
  },
);

describe.skipIf(!engine.available)("openenv build of an environment of this repository", LIMIT, () => {
  let npm: string;
  let sandbox: string;
  beforeAll(async () => {
    npm = await createNpmImage(BASE);
    if (bubblewrap.available) sandbox = await createSandboxImage(BASE, bubblewrap.path);
  }, LIMIT.timeout);
  afterAll(async () => {
    await docker("rmi", "--force", tag).catch(() => {});
  });

  interface Case {
    name: string;
    /** Options to start in a container without extra rights. */
    env?: Record<string, string>;
    steps: [action: object, observation: object][];
  }
  // Each has its own dependencies with files that are read at runtime; coding also has data/ and its own Dockerfile.
  const coding: Case = {
    name: "coding",
    env: { ALLOW_WEAK_SANDBOX: "1" },
    // Each interpreter reads its driver from data/.
    steps: [
      [{ code: "print(6 * 7)" }, { stdout: "42\n" }],
      [{ code: "console.log(6 * 7)", language: "javascript" }, { stdout: "42\n" }],
    ],
  };
  const wordle: Case = { name: "wordle", steps: [[{ message: "[crane]" }, { current_player_id: 0 }]] };
  const { name, env = {}, steps } = bubblewrap.available ? coding : wordle;
  const tag = `openenv-test-${name}:${process.pid}`;
  test(`${name}: the image answers a reset and a step, and clients of ORS`, LIMIT, async () => {
    const bases = ["--build-arg", `BUILD_BASE=${npm}`, "--build-arg", `BASE=${name === "coding" ? sandbox : BASE}`];
    const variables = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
    const built = await runCommand(["build", `envs/${name}`, "-t", tag, ...bases, ...variables], { cwd: ROOT });
    expect(built).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Built .* answers a reset/) });
    await using server = await dockerProvider({ pull: "never" }).start({ image: tag, env });
    await using session = await connect(server.url);
    await session.reset({ seed: 7 });
    for (const [action, observation] of steps) {
      expect(await session.step({ ...action })).toMatchObject({ done: false, observation });
    }
    const ors = orsClient(server.url);
    expect((await ors.request("GET", "/list_environments", { id: "x" })).json).toEqual([`${name}_env`]);
    const id = await ors.open();
    const [[input]] = steps as [Case["steps"][number]];
    expect((await ors.call(id, "step", input)).result).toMatchObject({ ok: true, output: { finished: false } });
  });
});
