/** The clients that `openenv client` generates for the released Python server, in both languages. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callCommand } from "../../test-support/commands/command-line.js";
import { runPython } from "../../test-support/commands/python-package.js";
import { requirePython } from "../../test-support/requirement.js";
import { type PythonServer, startPythonServer } from "./start-server.js";

const python = await requirePython();
/** Importing the Python package takes seconds. */
const TIME_LIMIT = { timeout: 300_000 };
/** Inside the repository, so that `import "openenv-ts"` resolves. */
const SCRATCH = join(import.meta.dirname, "../../.cache");

describe.skipIf(!python.available)("a generated client of a Python server", TIME_LIMIT, () => {
  let server: PythonServer;
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(SCRATCH, "generated-"));
    server = await startPythonServer(python.path, 4);
  }, TIME_LIMIT.timeout);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  it("runs a typed episode in Python", async () => {
    const args = ["client", "python", "--url", server.url, "-o", "python", "--name", "my-env", "--base", "openenv"];
    expect(await callCommand(args, { cwd: dir })).toMatchObject({ code: 0, stderr: "" });
    const script = `
import json
from my_env import MyAction, MyEnv, MyObservation, RemoteError
client = MyEnv(base_url="${server.url}")
with client.sync() as env:
    first = env.reset(start=1)
    assert isinstance(first.observation, MyObservation)
    result = env.step(MyAction(amount=3))
    try:
        MyAction(amount=101)
    except ValueError as error:
        refused = error.errors()[0]["loc"]
    client._step_payload = lambda action: {"amount": "many"}
    try:
        env.step(MyAction(amount=1))
    except RemoteError as error:
        code = error.code
    print(json.dumps([result.observation.count, result.reward, result.observation.seen_at.year > 2000, refused, code]))
`;
    const told = [4, 3, true, ["amount"], "VALIDATION_ERROR"];
    expect(await runPython(python.path, script, join(dir, "python"))).toEqual(told);
  });

  it("runs a typed episode in TypeScript, and compares the schemas", async () => {
    const args = ["client", "typescript", "--url", server.url, "-o", "typescript"];
    expect(await callCommand(args, { cwd: dir })).toMatchObject({ code: 0, stderr: "" });
    const declared = await readFile(join(dir, "typescript/dist/index.d.ts"), "utf8");
    expect(declared).toContain("export declare const CounterEnv:");
    expect(declared).toContain("  /** How much to add */\n  amount: number;\n  wait_seconds?: number;\n");
    const play = `
      const { CounterEnv } = await import("./typescript/dist/index.js");
      const env = await CounterEnv.connect("${server.url}");
      await env.reset({ start: 1 });
      console.log(JSON.stringify((await env.step({ amount: 3 })).observation.count));
      await env.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", play], { cwd: dir });
    expect(JSON.parse(stdout)).toBe(4);
  });
});
