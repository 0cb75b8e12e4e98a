import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { checker } from "openenv-ts/internal";
import { describe, expect, test } from "vitest";
import {
  counterModule,
  createProject,
  type Project,
  runCommand,
} from "../../../../../test-support/commands/command-line.js";
import { startEngineProxy } from "../../../../../test-support/proxies/engine-proxy.js";
import { requireDocker } from "../../../../../test-support/requirement.js";
import { parseManifest } from "../../../../providers/src/manifest/parse-manifest.js";
import type { PackageReport } from "../report/package-report.js";
import { startContainer } from "./container.js";
import { containmentChecks } from "./containment.js";
import { lookInside } from "./look-inside.js";

const docker = await requireDocker();
const run = promisify(execFile);
const LIMIT = { timeout: 180_000 };
const MB = 1024 * 1024;

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

/** A package whose image has the server in one file, so that nothing is installed in the image. */
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
    // CommonJS packages require builtins.
    banner: { js: 'import { createRequire as of } from "node:module"; const require = of("/");' },
  });
  return project;
}

const SERVE = `
  import { serve } from "openenv-ts/server";
  import environment from "./server/environment.js";
  await serve(environment, { host: "0.0.0.0", handleSignals: true });
`;

function readValidation() {
  const { validation } = parseManifest(MANIFEST, "openenv.yaml");
  if (!validation) throw new Error("the manifest has the block");
  return validation;
}

async function validate({ dir }: Project): Promise<PackageReport> {
  const { stdout } = await runCommand(["validate", "--json", "--sessions", "3"], { cwd: dir });
  return JSON.parse(stdout) as PackageReport;
}

/** Our objects in the engine, without those of other tests. */
async function listOurs(): Promise<string> {
  const containers = await run("docker", ["ps", "--all", "--quiet", "--filter", "name=openenv-validate-"]);
  const networks = await run("docker", ["network", "ls", "--quiet", "--filter", "name=openenv-validate-"]);
  const images = await run("docker", ["image", "ls", "--quiet", "--filter", "reference=openenv-validate-*"]);
  return containers.stdout + networks.stdout + images.stdout;
}

describe.skipIf(!docker.available)("a package with an image", () => {
  test("is checked in a container without rights and without a network, which is removed", LIMIT, async () => {
    await using project = await createPackage(SERVE);
    // An image of the user with the same content as the build.
    const own = `openenv-test-${process.pid}`;
    await run("docker", ["build", "--quiet", "--tag", own, project.dir]);
    const { results, verdict } = await validate(project);
    await run("docker", ["image", "rm", own]);
    expect(results.filter(({ status }) => status === "fail" || status === "error")).toEqual([]);
    const of = (id: string) => results.find(({ check_id }) => check_id === id);
    expect(of("runtime.network_policy")).toMatchObject({ status: "pass", measured: { declared: "no-network" } });
    // The init of the container, the supervisor and two workers.
    const measured = { actual: { processes: 4, writable_mounts: [] } };
    expect(of("runtime.host_containment")).toMatchObject({ status: "pass", measured });
    const limits = { memory: 256 * MB, swap: 0, cpus: 1, processes: 256, tmp: 64 * MB };
    expect(of("runtime.resource_bounds")).toMatchObject({ status: "pass", measured: { actual: limits } });
    expect(of("semantic.resource_envelope")).toMatchObject({ status: "pass", measured: { actual: { oom_kills: 0 } } });
    expect(verdict).toBe("pass");
    expect(await listOurs()).toBe("");
  });

  test("that behaves differently in its container fails there", LIMIT, async () => {
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

  test("is read from the kernel: a container with rights and without limits shows them", LIMIT, async () => {
    const name = `openenv-test-${process.pid}`;
    await run("docker", [
      "run",
      "--detach",
      "--name",
      name,
      "node:20-slim",
      "node",
      "-e",
      "setInterval(() => {}, 1e6)",
    ]);
    await using _ = { [Symbol.asyncDispose]: async () => void (await run("docker", ["rm", "--force", name])) };
    const { signal } = new AbortController();
    const inside = await lookInside(name, signal);
    const { checks } = await checker.runChecks("", containmentChecks(name, readValidation(), signal));
    expect(inside?.processes).toMatchObject([{ uids: [0, 0, 0, 0], noNewPrivileges: false }]);
    expect(inside?.processes[0]?.capabilities).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/[^0]/)));
    expect(inside?.limits).toMatchObject({ memory: Infinity, cpus: Infinity });
    expect(inside?.writableMounts).toContain("/");
    const [containment, bounds] = checks;
    expect(containment).toMatchObject({
      status: "failed",
      detail: expect.stringMatching(/^1 of 1 processes .*mount \/ /),
    });
    expect(bounds).toMatchObject({
      status: "skipped",
      detail: expect.stringMatching(/does not limit memory,.* cpus,/),
    });
  });

  test("that declares a volume fails, because the volume is on the host", LIMIT, async () => {
    const Dockerfile = `FROM node:20-slim\nVOLUME /data\nCOPY server.mjs /\nCMD ["node", "/server.mjs"]\n`;
    await using project = await createPackage(SERVE, { Dockerfile });
    const image = `openenv-test-volume-${process.pid}`;
    await run("docker", ["build", "--quiet", "--tag", image, project.dir]);
    await using _ = { [Symbol.asyncDispose]: async () => void (await run("docker", ["image", "rm", image])) };
    const { signal } = new AbortController();
    const validation = readValidation();
    await using container = await startContainer({ image, validation, env: {}, offline: false, signal });
    const { checks } = await checker.runChecks("", containmentChecks(container.name, validation, signal));
    const detail = "the mount /data is from the host and is writable";
    const failed = checks.filter(({ status }) => status === "failed");
    expect(failed).toMatchObject([{ id: "host_containment", detail }]);
  });

  test("that needs more memory than it declares fails with the kernel's measurement", LIMIT, async () => {
    const hungry = counterModule("Buffer.alloc(amount * 200 * 1024 * 1024, 1).fill(0, 0, 1).length * 0 + amount");
    await using project = await createPackage(SERVE, { "server/environment.ts": hungry });
    const { results } = await validate(project);
    const [envelope] = results.filter(({ check_id }) => check_id === "semantic.resource_envelope");
    expect(envelope).toMatchObject({
      status: "fail",
      evidence: [expect.stringMatching(/^in the container: the kernel killed \d+ processes that ran out of memory$/)],
      measured: { expected: { memory_mb: 256, oom_kills: 0 } },
    });
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

  test("a container that is created after its start was cancelled is removed", LIMIT, async () => {
    await using proxy = await startEngineProxy();
    const held = proxy.hold(/^POST .*\/containers\/create/);
    const controller = new AbortController();
    const task = {
      image: "node:20-slim",
      validation: readValidation(),
      env: {},
      offline: false,
      signal: controller.signal,
    };
    const starting = startContainer(task);
    const letGo = await held;
    controller.abort();
    await expect(starting).rejects.toMatchObject({ code: "ABORTED" });
    await letGo();
    await expect.poll(listOurs, { timeout: 20_000 }).toBe("");
  });
});
