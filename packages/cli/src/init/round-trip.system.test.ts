/**
 * What `openenv init` makes, in the hands of its author and of those who install it from git; outside of this repository.
 * Its image is built and run by packages/web/test/docker-snippet.system.test.ts.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callCommand } from "../../../../test-support/commands/command-line.js";
import { INSTALL_FLAGS, npm, type StartedProgram, startProgram } from "../../../../test-support/commands/npm.js";
import { createVenv, runPython } from "../../../../test-support/commands/python-package.js";
import { requirePython } from "../../../../test-support/requirement.js";
import { packageRoot } from "../project/package-root.js";

const python = await requirePython();
/** npm and pip install for real. */
const TIME_LIMIT = { timeout: 300_000 };

let home: string;
let dir: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "openenv-init-"));
  const { code, stderr } = await callCommand(["init", "star-map"], { cwd: home });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  dir = join(home, "star-map");
  await git("init", "--quiet");
  await git("add", "--all");
  await git("-c", "user.name=author", "-c", "user.email=author@example.org", "commit", "--quiet", "-m", "first");
  await npm(dir, "ci", ...INSTALL_FLAGS);
}, TIME_LIMIT.timeout);
afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

describe("an environment as it was made", TIME_LIMIT, () => {
  test("installs from its lock file, and nothing that git sees changes", async () => {
    expect(await git("status", "--porcelain")).toBe("");
    const lock = JSON.parse(await readFile(join(dir, "node_modules/.package-lock.json"), "utf8")) as Lock;
    expect(lock.packages["node_modules/openenv-ts"]?.resolved).toMatch(/^file:vendor\/openenv-ts-.*\.tgz$/);
  });

  test("passes its tests", async () => {
    const { stdout } = await npm(dir, "test");
    expect(stdout).toMatch(/Tests\s+3 passed/);
  });

  test("fails npm test for a type error in a test, wherever that is, which the build leaves out", async () => {
    const paths = ["score.test.ts", "test/score.test.ts", "tests/helpers/score.ts"];
    for (const path of paths) {
      await mkdir(dirname(join(dir, path)), { recursive: true });
      await writeFile(join(dir, path), 'export const score: number = "none";\n');
    }
    await using _ = { [Symbol.asyncDispose]: async () => void (await git("clean", "-qfd")) };
    const failure = (await npm(dir, "test").catch((error: unknown) => error)) as Error;
    await npm(dir, "run", "build");
    for (const path of paths) {
      expect(failure.message).toContain(`${path}(1,14): error TS2322`);
      expect(existsSync(join(dir, "dist", path.replace(/ts$/, "js")))).toBe(false);
    }
  });

  test("finds its data files in the sources, in dist/ without them, and for openenv validate", async () => {
    const file = join(dir, "server/environment.ts");
    const text = await readFile(file, "utf8");
    await mkdir(join(dir, "data"));
    await writeFile(join(dir, "data/train.jsonl"), '{ "target": 12 }\n');
    await writeFile(file, `import { createTasks } from "openenv-ts";\n${READ_TASKS}\n${text.replace("seeded", TASKS)}`);
    await using _ = {
      async [Symbol.asyncDispose]() {
        await git("checkout", "server");
        await git("clean", "-qfd", "data");
      },
    };
    await using served = startProgram(dir, ["npm", "start", "--", "--port", "0"]);
    expect(await countTasks((await served.printed(/star_map \S+ at (http:\S+)/))[1])).toEqual({ num_tasks: 1 });
    const { stdout } = await npm(dir, "exec", "--", "openenv", "validate", "--json");
    const { results } = JSON.parse(stdout) as Validated;
    expect(results).toContainEqual(expect.objectContaining({ check_id: "runtime.data_files", status: "pass" }));
    await npm(dir, "run", "build");
    // As an image has it: what was compiled and the packages, in another working directory.
    const image = await folder("image", {});
    for (const name of ["dist", "package.json"]) await cp(join(dir, name), join(image, name), { recursive: true });
    await symlink(join(dir, "node_modules"), join(image, "node_modules"));
    await using server = startProgram(home, [process.execPath, join(image, "dist/server/app.js")], { PORT: "0" });
    expect(await countTasks((await server.printed(/star_map at (http:\S+)/))[1])).toEqual({ num_tasks: 1 });
  });

  test("restarts with npm run dev when a file changes", async () => {
    await using server = startProgram(dir, ["npm", "run", "dev", "--", "--port", "0"]);
    await server.printed(/Watching server\/environment\.ts/);
    const file = join(dir, "server/environment.ts");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace("You won.", "You have won."));
    await server.printed(/Restarted after a change/);
    await writeFile(file, text);
  });

  test("passes openenv validate without a warning", async () => {
    const { stdout } = await npm(dir, "exec", "--", "openenv", "validate", "--json");
    const { results, verdict } = JSON.parse(stdout) as Validated;
    const open = results.filter((result) => result.status !== "pass" && !result.not_applicable);
    expect({ open, verdict }).toEqual({ open: [], verdict: "pass" });
  });

  test("writes the same Python client again", async () => {
    await npm(dir, "run", "client");
    expect(await git("status", "--porcelain")).toBe("");
  });
});

describe("npm start serves it", TIME_LIMIT, () => {
  let server: StartedProgram;
  let url: string;
  beforeAll(async () => {
    server = startProgram(dir, ["npm", "start", "--", "--port", "0"]);
    [, url = ""] = await server.printed(/star_map \S+ at (http:\S+)/);
  }, TIME_LIMIT.timeout);
  afterAll(() => server?.[Symbol.asyncDispose]());

  test("with the page and its script, which come from the package", async () => {
    const page = await (await fetch(`${url}/web/`)).text();
    const [, script = ""] = /<script [^>]*src="([^"]+)"/.exec(page) ?? [];
    const answer = await fetch(new URL(script, `${url}/web/`));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/javascript/);
    expect((await answer.text()).length).toBeGreaterThan(10_000);
  });

  test("to a TypeScript package that installed it with npm from git, with types", async () => {
    const consumer = await folder("npm-consumer", {
      "package.json": '{ "name": "consumer", "private": true, "type": "module" }',
      "play.mts": `import { type StarMapAction, StarMapEnv } from "star-map";
        const env = await StarMapEnv.connect(${JSON.stringify(url)});
        let result = await env.reset({ seed: 7 });
        const action: StarMapAction = { amount: 1 };
        while (!result.done) result = await env.step(action);
        const message: string = result.observation.message;
        console.log(JSON.stringify([result.reward, message]));
        await env.close();
        // @ts-expect-error there is no such field
        export const other = result.observation.other;`,
    });
    await npm(consumer, "install", `git+file://${dir}`, ...INSTALL_FLAGS);
    await expect(readFile(join(consumer, "node_modules/openenv-ts/package.json"))).rejects.toThrow("ENOENT");
    const tsc = join(dir, "node_modules/typescript/bin/tsc");
    const options = [
      "--ignoreConfig",
      "--strict",
      "--target",
      "es2022",
      "--lib",
      "es2023,esnext.disposable,dom",
      "--types",
      "",
    ];
    await promisify(execFile)(process.execPath, [tsc, "--module", "nodenext", ...options, "play.mts"], {
      cwd: consumer,
    });
    const { stdout } = await promisify(execFile)(process.execPath, ["play.mjs"], { cwd: consumer });
    expect(JSON.parse(stdout)).toEqual([1, "You won."]);
  });

  test.skipIf(!python.available)(
    "to a Python that installed it with pip from git, where AutoEnv finds it by its name",
    async () => {
      await using venv = await createVenv(python.path);
      await venv.install(`git+file://${dir}`);
      const script = `
import json
from openenv.auto import AutoAction
from star_map import StarMapAction, StarMapEnv
assert AutoAction.from_env("star_map") is StarMapAction
with StarMapEnv(base_url=${JSON.stringify(url)}).sync() as env:
    result = env.reset(seed=7)
    while not result.done:
        result = env.step(StarMapAction(amount=1))
    print(json.dumps([result.reward, result.observation.message, len(env.state().history), env.state().step_count]))
`;
      const told = (await runPython(venv.python, script, home)) as unknown[];
      expect(told.slice(0, 2)).toEqual([1, "You won."]);
      expect(told[2]).toBe(told[3]);
    },
  );
});

describe("with another zod", TIME_LIMIT, () => {
  const installZod = (version: string, ...flags: string[]) =>
    npm(dir, "install", `zod@${version}`, "--ignore-scripts", ...flags, ...INSTALL_FLAGS);
  let range: string;
  beforeAll(async () => {
    range = (await readManifest(packageRoot("openenv-ts"))).peerDependencies?.["zod"] ?? "";
  });

  test.each(["lowest", "newest"])("the %s of the range: types, tests and the build pass", async (which) => {
    const wanted = which === "lowest" ? range.replace("^", "") : range;
    await installZod(wanted);
    const { version } = await readManifest(join(dir, "node_modules/zod"));
    if (which === "lowest") expect(version).toBe(wanted);
    // One copy: another one would be a type error where schemas meet.
    await expect(readManifest(join(dir, "node_modules/openenv-ts/node_modules/zod"))).rejects.toThrow("ENOENT");
    expect((await npm(dir, "test")).stdout).toMatch(/Tests\s+3 passed/);
    await npm(dir, "run", "build");
  });

  test("zod 3 is refused with what to do", async () => {
    await installZod("3.25.76", "--legacy-peer-deps");
    for (const command of ["validate", "serve"]) {
      await expect(npm(dir, "exec", "--", "openenv", command)).rejects.toThrow(
        /error: openenv-ts needs zod \^4\.6\.0 and found zod 3 or older; run: npm install zod@4/,
      );
    }
  });
});

const READ_TASKS = `import { readJsonl } from "openenv-ts/server";
const tasks = createTasks({ train: readJsonl(new URL("../data/train.jsonl", import.meta.url)) });`;
const TASKS = "tasks, seeded";

async function countTasks(url = ""): Promise<unknown> {
  const body = JSON.stringify({ split: "train" });
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/star_map/num_tasks`, { method: "POST", headers, body })).json();
}

interface Validated {
  results: { check_id: string; status: string; not_applicable?: true }[];
  verdict: string;
}

interface Lock {
  packages: Record<string, { resolved?: string }>;
}

async function readManifest(folder: string) {
  const text = await readFile(join(folder, "package.json"), "utf8");
  return JSON.parse(text) as { version: string; peerDependencies?: Record<string, string> };
}

async function folder(name: string, files: Record<string, string>): Promise<string> {
  const path = await mkdtemp(join(home, `${name}-`));
  for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text);
  return path;
}

async function git(...args: string[]): Promise<string> {
  return (await promisify(execFile)("git", args, { cwd: dir })).stdout;
}
