import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { counterModule, createProject, type Project, runCommand } from "../../../test-support/command-line.js";
import { startEngineProxy } from "../../../test-support/engine-proxy.js";
import { requireDocker } from "../../../test-support/requirement.js";
import { parseManifest } from "../../manifest/parse-manifest.js";
import { startContainer } from "./container.js";
import type { PackageReport } from "./package-report.js";

const docker = await requireDocker();
const run = promisify(execFile);
const LIMIT = { timeout: 180_000 };

const MANIFEST = `name: counter_env
validation:
  reward: { range: [0, 1], floor_margin: 0.1 }
  resources: { cpu: 1, memory_mb: 256, disk_mb: 64, episode_timeout_s: 60 }
  capabilities:
    verifier: { kind: reward_channel }
  types: { tags: [game] }
  network: { mode: no-network }
  execution: {}
`;
const PLAN =
  '{"plan_schema_version":"1","reset":{"episode_id":"probe","seed":3},"actions":[{"amount":1},{"amount":2}]}';

/** A package whose image holds its server in one file: nothing is installed in the image. */
async function createPackage(app: string, files: Record<string, string> = {}): Promise<Project> {
  const project = await createProject({
    "openenv.yaml": MANIFEST,
    "validation/runtime.json": PLAN,
    "server/environment.ts": counterModule(),
    "app.ts": app,
    Dockerfile: `FROM node:20-slim\nCOPY server.mjs /app/server.mjs\nEXPOSE 8000\nCMD ["node", "/app/server.mjs"]\n`,
    ...files,
  });
  await build({
    entryPoints: [join(project.dir, "app.ts")],
    outfile: join(project.dir, "server.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    // Packages of CommonJS ask for builtins.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire("/");' },
  });
  return project;
}

const SERVE = `
  import { serve } from "openenv-ts/server";
  import environment from "./server/environment.js";
  await serve(environment, { host: "0.0.0.0", handleSignals: true });
`;

async function validate({ dir }: Project): Promise<PackageReport> {
  const { stdout } = await runCommand(["validate", "--json", "--sessions", "3"], { cwd: dir });
  return JSON.parse(stdout) as PackageReport;
}

/** What is there of us in the engine, apart from what other tests have. */
async function listOurs(): Promise<string> {
  const containers = await run("docker", ["ps", "--all", "--quiet", "--filter", "name=openenv-validate-"]);
  const networks = await run("docker", ["network", "ls", "--quiet", "--filter", "name=openenv-validate-"]);
  const images = await run("docker", ["image", "ls", "--quiet", "--filter", "reference=openenv-validate-*"]);
  return containers.stdout + networks.stdout + images.stdout;
}

describe.skipIf(!docker.available)("a package with an image", () => {
  test("is checked in a container without rights and without a network, which leaves nothing", LIMIT, async () => {
    await using project = await createPackage(SERVE);
    // An image of the user that the build is the same as.
    const own = `openenv-test-${process.pid}`;
    await run("docker", ["build", "--quiet", "--tag", own, project.dir]);
    const { results, verdict } = await validate(project);
    await run("docker", ["image", "rm", own]);
    expect(results.filter(({ status }) => status === "fail" || status === "error")).toEqual([]);
    expect(results.find(({ check_id }) => check_id === "runtime.network_policy")).toMatchObject({
      status: "pass",
      measured: { declared: "no-network" },
    });
    expect(verdict).toBe("warn");
    expect(await listOurs()).toBe("");
  });

  test("that behaves otherwise in its container fails there", LIMIT, async () => {
    const writing = counterModule()
      .replace("export default", 'import { writeFileSync } from "node:fs";\nexport default')
      .replace(
        "step: ({ amount }) => (",
        'step: ({ amount }) => (process.getuid?.() === 65532 && writeFileSync("/note", "1"), ',
      );
    await using project = await createPackage(SERVE, { "server/environment.ts": writing });
    const { results } = await validate(project);
    expect(results.filter(({ status }) => status === "fail")).toMatchObject([
      { check_id: "runtime.startup", evidence: [expect.stringMatching(/^in the container: step .* EXECUTION_ERROR/)] },
    ]);
  });

  test.each([
    ["that cannot be built", SERVE, { Dockerfile: `FROM node:20-slim\nRUN exit 7\n` }, /docker build failed:[\s\S]*7/],
    ["that ends at once", "console.error('no wish to'); process.exit(3);", {}, /no wish to/],
  ])(
    "an image %s fails the start alone, with its last lines, and leaves nothing",
    LIMIT,
    async (_, app, files, evidence) => {
      await using project = await createPackage(app, files);
      const { results } = await validate(project);
      const startup = results.find(({ check_id }) => check_id === "runtime.startup");
      expect(startup).toMatchObject({ status: "fail" });
      expect(startup?.evidence.join("\n")).toMatch(evidence);
      const ofProcess = results.find(({ check_id }) => check_id === "runtime.reward_well_formed");
      expect(ofProcess).toMatchObject({ status: "pass" });
      expect(await listOurs()).toBe("");
    },
  );

  test("a container that is made after its start was given up is removed", LIMIT, async () => {
    await using proxy = await startEngineProxy();
    const held = proxy.hold(/^POST .*\/containers\/create/);
    const controller = new AbortController();
    const { validation } = parseManifest(MANIFEST, "openenv.yaml");
    if (!validation) throw new Error("the manifest has the block");
    const task = { image: "node:20-slim", validation, env: {}, offline: false, signal: controller.signal };
    const starting = startContainer(task);
    const letGo = await held;
    controller.abort();
    await expect(starting).rejects.toMatchObject({ code: "ABORTED" });
    await letGo();
    await expect.poll(listOurs, { timeout: 20_000 }).toBe("");
  });
});
