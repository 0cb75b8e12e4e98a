import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  runCommand,
  startCommand,
} from "../../../../test-support/commands/command-line.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

const ROOT = join(import.meta.dirname, "../../../..");
/** Packing openenv-ts, npm and the compiler take seconds. */
const TIME_LIMIT = { timeout: 300_000 };
const MANIFEST = 'name: other_game\nversion: "2.1.0"\n';
const PYTHON_FILES = ["__init__.py", "client.py", "models.py", "py.typed"];

/** An action and tools. */
const TOOLS_MODULE = `
import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "booth_env",
  action: z.object({ move: z.enum(["left", "right"]) }),
  observation: z.object({ at: z.int() }),
  tools: defineTools({
    guess: { description: "Guesses.", input: z.object({ word: z.string() }), output: z.object({ right: z.boolean() }) },
    "look-up": { description: "Lists.", output: z.array(z.string()) },
  }),
});
export default defineEnvironment(contract, () => ({
  reset: () => ({ observation: { at: 0 } }),
  step: () => ({ observation: { at: 1 } }),
  tools: { guess: ({ word }) => ({ right: word === "crane" }), "look-up": () => ["crane"] },
}));
`;

function pythonFiles(module: string): string[] {
  return ["README.md", ...PYTHON_FILES.map((file) => `${module}/${file}`), "pyproject.toml"].sort();
}

describe("openenv client python", () => {
  test("of a folder with a manifest writes next to the environment, with the name in the manifest", async () => {
    await using project = await createProject({ "environment.ts": counterModule(), "openenv.yaml": MANIFEST });
    const { code, stdout } = await callCommand(["client", "python", "--json"], { cwd: project.dir });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      dir: project.dir,
      name: "other-game",
      client: "OtherGameEnv",
      files: pythonFiles("other_game"),
    });
    expect(await readFile(join(project.dir, "pyproject.toml"), "utf8")).toContain('version = "2.1.0"');
  });

  test("of a module or a server writes a folder called after the environment, or as --name says", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const ofServer = await callCommand(["client", "python", "--url", url], { cwd: project.dir });
    expect(ofServer.stdout).toBe(
      `Wrote CounterEnv in counter-env-python-client: ${pythonFiles("counter_env").join(", ")}\n`,
    );
    await callCommand(["client", "python", "environment.ts", "-o", "here", "--name", "tally"], { cwd: project.dir });
    expect(await readdir(join(project.dir, "here"))).toEqual(["README.md", "pyproject.toml", "tally"]);
    const [fromServer, fromModule] = await Promise.all(
      ["counter-env-python-client/counter_env/models.py", "here/tally/models.py"].map((file) =>
        readFile(join(project.dir, file), "utf8"),
      ),
    );
    expect(fromModule).toBe(fromServer?.replaceAll("Counter", "Tally"));
  });

  test("run again replaces what it wrote, and keeps what its author changed", async () => {
    await using project = await createProject({ "environment.ts": counterModule(), "openenv.yaml": MANIFEST });
    await callCommand(["client", "python"], { cwd: project.dir });
    await project.write("README.md", "mine");
    await project.write(
      "environment.ts",
      counterModule().replace("amount: z.int()", "amount: z.int(), unit: z.string()"),
    );
    // Node keeps the module that it has imported, so a separate process reads the changed one.
    const { code, stdout } = await runCommand(["client", "python"], { cwd: project.dir });
    expect(code).toBe(0);
    expect(stdout).not.toContain("README");
    expect(await readFile(join(project.dir, "README.md"), "utf8")).toBe("mine");
    expect(await readFile(join(project.dir, "other_game/models.py"), "utf8")).toContain("    unit: str\n");
  });
});

describe("openenv client python --base", () => {
  test("chooses the package that the client stands on; without it, the next run keeps that of the first", async () => {
    await using project = await createProject({ "environment.ts": counterModule(), "openenv.yaml": MANIFEST });
    const write = async (...args: string[]) => {
      expect(await callCommand(["client", "python", ...args], { cwd: project.dir })).toMatchObject({ code: 0 });
      return readFile(join(project.dir, "other_game/client.py"), "utf8");
    };
    expect(await write()).toContain("from openenv_ts import ");
    expect(await readFile(join(project.dir, "pyproject.toml"), "utf8")).toContain('"openenv-ts>=');
    expect(await write("--base", "openenv")).toContain("from openenv.core import EnvClient");
    expect(await write()).toContain("from openenv.core import EnvClient");
  });
});

describe("openenv client typescript", TIME_LIMIT, () => {
  test("writes a package that npm installs and that plays, with the types of the server", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    // Outside of this repository: neither folder finds openenv-ts in one above.
    const home = await mkdtemp(join(tmpdir(), "openenv-client-test-"));
    await using _ = { [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 5 }) };
    const consumer = join(home, "consumer");
    await mkdir(consumer);
    const made = await callCommand(["client", "typescript", "--url", url, "--json"], { cwd: home });
    expect(JSON.parse(made.stdout)).toMatchObject({
      client: "CounterEnv",
      files: ["README.md", "dist/index.d.ts", "dist/index.js", "package.json"],
    });
    await writeFile(join(consumer, "package.json"), '{ "name": "consumer", "type": "module", "private": true }');
    await writeFile(
      join(consumer, "play.mts"),
      `import { contract, type CounterAction, CounterEnv } from "counter-env-client";
       const env = await CounterEnv.connect(${JSON.stringify(url)});
       await env.reset();
       const action: CounterAction = { amount: 2 };
       const result = await env.step(action);
       const count: number = result.observation.count;
       console.log(JSON.stringify([count, contract.name, (await env.state()).step_count]));
       await env.close();
       // @ts-expect-error an amount is a number
       export const wrong: CounterAction = { amount: "2" };
       // @ts-expect-error there is no such field
       export const other = result.observation.other;`,
    );
    const run = (file: string, args: string[]) => promisify(execFile)(file, args, { cwd: consumer });
    await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "../counter-env-client"]);
    expect(await readdir(join(consumer, "node_modules"))).toContain("counter-env-client");
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
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    await run(process.execPath, [tsc, "--module", "nodenext", ...options, "play.mts"]);
    expect(JSON.parse((await run(process.execPath, ["play.mjs"])).stdout)).toEqual([2, "counter_env", 1]);
  });

  test("has the tools of the environment as typed methods", async () => {
    await using project = await createProject({ "environment.ts": TOOLS_MODULE });
    await callCommand(["client", "typescript", "-o", "client"], { cwd: project.dir });
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    await project.write(
      "play.mts",
      `import { BoothEnv } from "./client/dist/index.js";
       const env = await BoothEnv.connect(${JSON.stringify(url)});
       await env.reset();
       const { data, reward } = await env.tools.guess({ word: "crane" });
       const right: boolean = data.right;
       const listed: string[] = (await env.tools["look-up"]()).data;
       console.log(JSON.stringify([right, reward, listed, (await env.step({ move: "left" })).observation.at]));
       await env.close();
       export async function wrong(): Promise<void> {
         // @ts-expect-error a word is a string
         await env.tools.guess({ word: 2 });
         // @ts-expect-error there is no such tool
         await env.tools.other();
       }`,
    );
    const options = ["--ignoreConfig", "--strict", "--target", "es2022", "--lib", "es2023,esnext.disposable,dom"];
    const tsc = [join(ROOT, "node_modules/typescript/bin/tsc"), "--module", "nodenext", "--types", "", ...options];
    const run = (args: string[]) => promisify(execFile)(process.execPath, args, { cwd: project.dir });
    await run([...tsc, "play.mts"]);
    expect(JSON.parse((await run(["play.mjs"])).stdout)).toEqual([true, 0, ["crane"], 1]);
  });

  test("refuses a server that has other schemas by now, and names the fields", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    await callCommand(["client", "typescript", "-o", "client"], { cwd: project.dir });
    await project.write("environment.ts", counterModule().replaceAll("amount", "size"));
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const { CounterEnv } = (await import(join(project.dir, "client/dist/index.js"))) as {
      CounterEnv: { connect(url: string): Promise<unknown> };
    };
    await expect(CounterEnv.connect(url)).rejects.toMatchObject({
      code: "CONTRACT_MISMATCH",
      fields: expect.arrayContaining(["action.amount"]),
    });
  });
});

describe("what cannot be done is one line and exit code 2:", () => {
  test.each([
    ["a target and a URL", ["environment.ts", "--url", "http://127.0.0.1:1"], /Pass a target or --url, not both/],
    [
      "a server that is not there",
      ["--url", "http://127.0.0.1:1"],
      /Request to .* failed .*; check that the server is running/,
    ],
    ["a folder without environment", ["empty"], /No environment in empty/],
    ["schemas without a name", ["schemas.json"], /schemas\.json has no name; pass one with --name/],
    ["a bad name", ["environment.ts", "--name", "My Env"], /"My Env" is not a valid name: .*; try my-env/],
    [
      "a file in the way",
      ["environment.ts", "-o", "mine"],
      /mine\/counter_env\/client\.py exists and was not written by this command/,
    ],
    ["a file for a folder", ["environment.ts", "-o", "environment.ts"], /Cannot write environment\.ts/],
  ])("%s", async (_what, args, message) => {
    await using project = await createProject({
      "environment.ts": counterModule(),
      "empty/keep.txt": "",
      "schemas.json": '{ "action": {}, "observation": {}, "state": {} }',
      "mine/counter_env/client.py": "# mine\n",
    });
    const { code, stdout, stderr } = await callCommand(["client", "python", ...args], { cwd: project.dir });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(await readdir(join(project.dir, "mine/counter_env"))).toEqual(["client.py"]);
  });

  test("a bundle in a folder that has other files", async () => {
    await using project = await createProject({
      "dist/client.js": "export const one = 1;\n",
      "dist/client.d.ts": "export declare const one = 1;\n",
      "mine/letter.txt": "dear mother",
    });
    const bundle = (to: string) => callCommand(["client", "bundle", "dist/client.js", "-o", to], { cwd: project.dir });
    const before = await readdir(project.dir, { recursive: true });
    for (const folder of [".", "dist", "mine"]) {
      expect(await bundle(folder)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("which would be deleted"),
      });
      expect(await readdir(project.dir, { recursive: true })).toEqual(before);
    }
    expect(await bundle("dist/client")).toMatchObject({ code: 0, stderr: "" });
    expect(await bundle("dist/client")).toMatchObject({ code: 0, stderr: "" });
  });

  test("an answer without end", async () => {
    await using project = await createProject();
    const megabyte = "x".repeat(1024 * 1024);
    const server = createServer((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(megabyte));
      };
      response.on("drain", more).on("error", () => {});
      more();
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await callCommand(["client", "python", "--url", url], { cwd: project.dir });
    expect(stderr).toBe(
      `error: The response of ${url}/schema is larger than 8 MB; pass the URL of an OpenEnv server.\n`,
    );
    expect(code).toBe(2);
    server.closeAllConnections();
    server.close();
  });
});
