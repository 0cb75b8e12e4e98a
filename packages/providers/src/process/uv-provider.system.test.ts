import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { checkProvider, uvProvider } from "@openenv-ts/providers";
import { connect } from "openenv-ts/client";
import { renderCheckReport } from "openenv-ts/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createPythonProject,
  type PythonProject,
  SMALL_PYTHON_PROJECT,
} from "../../../../test-support/commands/python-project.js";
import { startHub } from "../../../../test-support/hub/hub-server.js";
import { requirePython, requireUv } from "../../../../test-support/requirement.js";

const python = await requirePython();
const uv = await requireUv();
/** The packages may have to be fetched first. */
const timeoutMs = 300_000;

let scratch: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), "uv-"));
  vi.stubEnv("OPENENV_CACHE", join(scratch, "cache"));
  vi.stubEnv("OPENENV_STATE_DIR", join(scratch, "state"));
  if (uv.available && uv.path !== "uv") vi.stubEnv("PATH", `${dirname(uv.path)}${delimiter}${process.env["PATH"]}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(scratch, { recursive: true, force: true });
});

async function writeProject(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(scratch, name), text);
  return scratch;
}

const records = () => readdir(join(scratch, "state", "processes")).catch(() => []);

describe.skipIf(!python.available || !uv.available)("an environment of the Python package's init", () => {
  let project: PythonProject;
  beforeAll(async () => {
    project = await createPythonProject(python.path);
  }, timeoutMs);
  afterAll(() => project[Symbol.asyncDispose]());

  test("is started by its folder, played, and ended with everything it started", { timeout: timeoutMs }, async () => {
    const server = await uvProvider().start({ directory: project.dir, timeoutMs });
    const env = await connect(server.url);
    await env.reset();
    const { observation } = await env.step({ message: "hello" });
    expect(observation).toMatchObject({ echoed_message: "hello" });
    expect(await server.logs()).toContain("Uvicorn running");
    expect(await records()).toHaveLength(1);
    await env.close();
    await server.close();
    await server.close();
    await expect(fetch(`${server.url}/health`)).rejects.toThrow("fetch failed");
    expect(await records()).toEqual([]);
  });
});

describe.skipIf(!uv.available)("the provider", () => {
  test("keeps the promises of every provider", { timeout: timeoutMs }, async () => {
    const directory = await writeProject(SMALL_PYTHON_PROJECT);
    const report = await checkProvider({
      create: uvProvider,
      works: { directory, timeoutMs: 60_000 },
      actions: [{ message: "hello" }],
      writes: "Uvicorn running",
      broken: {
        "no such folder": { spec: { directory: join(scratch, "none") }, code: "SOURCE_NOT_FOUND" },
        "no such repository": { spec: { git: "https://127.0.0.1:1/none" }, code: "SOURCE_NOT_FOUND" },
      },
    });
    expect(report.passed, renderCheckReport(report)).toBe(true);
  });
});

describe.skipIf(!uv.available)("a git repository", () => {
  test("is cloned and started with the application of its manifest", { timeout: timeoutMs }, async () => {
    await using hub = await startHub();
    await hub.addSpace("author/small", SMALL_PYTHON_PROJECT);
    await using server = await uvProvider().start({ git: `${hub.url}/spaces/author/small`, timeoutMs });
    await using env = await connect(server.url);
    await env.reset();
    expect(await env.step({ message: "cloned" })).toMatchObject({ observation: { message: "cloned" } });
  });
});

describe.skipIf(!uv.available)("an environment that does not start", () => {
  test("shows the end of its log and leaves nothing", { timeout: timeoutMs }, async () => {
    const pyproject = '[project]\nname = "a"\nversion = "1"\ndependencies = ["uvicorn"]\n';
    const directory = await writeProject({ "pyproject.toml": pyproject, "app.py": 'raise RuntimeError("no luck")\n' });
    await expect(uvProvider({ app: "app:app" }).start({ directory, timeoutMs })).rejects.toMatchObject({
      code: "START_FAILED",
      message: expect.stringContaining("no luck"),
    });
    expect(await records()).toEqual([]);
  });

  test("because its packages do not exist names them", { timeout: timeoutMs }, async () => {
    const text = '[project]\nname = "a"\nversion = "1"\ndependencies = ["openenv-no-such-package-at-all"]\n';
    const directory = await writeProject({ "pyproject.toml": text });
    await expect(uvProvider().start({ directory, timeoutMs })).rejects.toMatchObject({
      code: "START_FAILED",
      message: expect.stringContaining("openenv-no-such-package-at-all"),
    });
  });
});
