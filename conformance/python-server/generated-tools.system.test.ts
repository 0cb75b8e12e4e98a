/** The clients that `openenv client` generates for a released Python server with tools, which `GET /schema` does not list. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { connectVector } from "openenv-ts/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callCommand } from "../../test-support/commands/command-line.js";
import { runPython } from "../../test-support/commands/python-package.js";
import { requirePython } from "../../test-support/requirement.js";
import { type PythonServer, startPythonServer } from "./start-server.js";

const python = await requirePython();
/** Importing the Python package takes seconds. */
const TIME_LIMIT = { timeout: 300_000 };
/** Inside the repository, so that `zod` resolves. */
const SCRATCH = join(import.meta.dirname, "../../.cache");
const TSC = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");

describe.skipIf(!python.available)("a generated client of a Python server with tools", TIME_LIMIT, () => {
  let server: PythonServer;
  let dir: string;
  beforeAll(async () => {
    await mkdir(SCRATCH, { recursive: true });
    dir = await mkdtemp(join(SCRATCH, "generated-"));
    server = await startPythonServer(python.path, 4, "tools_server.py");
  }, TIME_LIMIT.timeout);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  it("has them as typed methods in TypeScript", async () => {
    const made = await callCommand(["client", "typescript", "--url", server.url, "-o", "typescript"], { cwd: dir });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    await writeFile(
      join(dir, "play.mts"),
      `import { DeskEnv } from "./typescript/dist/index.js";
       const env = await DeskEnv.connect(${JSON.stringify(server.url)});
       await env.reset();
       const { data } = await env.tools.greet({ name: "Bo" });
       const tally: number = (await env.tools.tally()).data;
       const failed = await env.tools.fail({ why: "no luck" }).catch((error) => error.errorType);
       console.log(JSON.stringify([data["greeting"], tally, failed]));
       await env.close();
       export async function wrong(): Promise<void> {
         // @ts-expect-error a name is a string
         await env.tools.greet({ name: 2 });
         // @ts-expect-error there is no such tool
         await env.tools.other();
       }`,
    );
    const options = ["--ignoreConfig", "--strict", "--target", "es2022", "--lib", "es2023,esnext.disposable,dom"];
    const run = (args: string[]) => promisify(execFile)(process.execPath, args, { cwd: dir });
    await run([TSC, "--module", "nodenext", "--types", "", ...options, "play.mts"]);
    expect(JSON.parse((await run(["play.mjs"])).stdout)).toEqual(["Hello, Bo!", 1, "execution_error"]);
  });

  it("has them as typed methods in Python", async () => {
    const made = await callCommand(["client", "python", "--url", server.url, "-o", "python", "--base", "openenv"], {
      cwd: dir,
    });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    const script = `
import json
from desk_env import DeskEnv
from desk_env.tools import ToolCallError
with DeskEnv(base_url="${server.url}").sync() as env:
    env.reset()
    greeting = env.tools.greet(name="Bo").data["greeting"]
    tally = env.tools.tally().data
    try:
        env.tools.fail(why="no luck")
    except ToolCallError as error:
        failed = error.error_type
    print(json.dumps([greeting, tally, failed]))
`;
    expect(await runPython(python.path, script, join(dir, "python"))).toEqual(["Hello, Bo!", 1, "execution_error"]);
  });

  it("calls the tools of many sessions", async () => {
    await using envs = await connectVector(server.url, { size: 2 });
    await envs.reset();
    const results = await envs.callTools([{ name: "greet", arguments: { name: "Bo" } }, { name: "nope" }]);
    expect(results).toMatchObject([
      { name: "greet", data: { greeting: "Hello, Bo!" }, outcome: "ok", error: null },
      { name: "nope", data: null, outcome: "ok", error: { errorType: "tool_not_found" } },
    ]);
  });
});
