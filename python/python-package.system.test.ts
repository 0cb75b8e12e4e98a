import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import {
  requirePythonPackage,
  requirePythonVerifiers,
  requirePythonVersions,
  requireTrainers,
} from "../test-support/requirement.js";

const python = await requirePythonPackage();
const versions = await requirePythonVersions();
const verifiers = await requirePythonVerifiers();
const trainers = await requireTrainers();
const cwd = import.meta.dirname;

async function run(...args: string[]): Promise<string> {
  return runWith(python.path, ...args);
}

async function runWith(path: string, ...args: string[]): Promise<string> {
  const options = { cwd, maxBuffer: 2 ** 24, env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" } };
  return promisify(execFile)(path, ["-m", ...args], options).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`${path} -m ${args.join(" ")} failed:\n${stdout}\n${stderr}`);
    },
  );
}

describe.skipIf(!python.available)("the Python package", () => {
  test("is formatted, has no findings and is typed", { timeout: 600_000 }, async () => {
    await run("ruff", "check", ".");
    await run("ruff", "format", "--check", ".");
    for (const version of ["3.10", "3.13"]) {
      expect(await run("mypy", "--python-version", version)).toContain("no issues found");
    }
  });

  test("plays on real servers", { timeout: 900_000 }, async () => {
    expect(await run("pytest", "-q", "-p", "no:cacheprovider")).toMatch(/\d+ passed/);
  });

  test("is built as a wheel with its types", { timeout: 120_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "openenv-wheel-"));
    try {
      await run("build", "--wheel", "--outdir", folder);
      const list = "import zipfile, glob, sys; print(zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0]).namelist())";
      const { stdout } = await promisify(execFile)(python.path, ["-c", list, folder]);
      expect(stdout).toContain("openenv_ts/py.typed");
      expect(stdout).toContain("dist-info/licenses/LICENSE");
      expect(stdout).not.toContain("tests/");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** What depends on the version: sockets, threads, asyncio, forks, pickling and types. The rest takes minutes for each. */
const FAST = ["env", "options", "process"].map((name) => `tests/test_${name}.py`);

test.skipIf(!versions.available)(
  "the other versions of Python play on real servers",
  { timeout: 900_000 },
  async () => {
    for (const path of versions.path.split(delimiter)) {
      expect(await runWith(path, "pytest", "-q", "-p", "no:cacheprovider", ...FAST)).toMatch(/\d+ passed/);
    }
  },
);

test.skipIf(!verifiers.available)("verifiers plays on real servers", { timeout: 300_000 }, async () => {
  const printed = await runWith(verifiers.path, "pytest", "-q", "-p", "no:cacheprovider", "tests/test_verifiers.py");
  expect(printed).toMatch(/^\d+ passed/m);
});

const PARTS = ["agilerl", "ms_swift", "nemo_gym", "verl"];
const LOOPS = ["agent_lightning", "art", "atropos", "openrlhf", "own_loop"];
const TRAINERS = ["environment", ...PARTS, ...LOOPS].map((name) => `tests/test_${name}.py`);

test.skipIf(!trainers.available)("other trainers play on real servers", { timeout: 900_000 }, async () => {
  const printed = await runWith(trainers.path, "pytest", "-q", "-p", "no:cacheprovider", ...TRAINERS);
  expect(printed).toMatch(/^\d+ passed/m);
});
