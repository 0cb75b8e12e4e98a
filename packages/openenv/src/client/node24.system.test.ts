import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { counterModule, createProject, startCommand } from "../../../../test-support/commands/command-line.js";
import { requireNode24 } from "../../../../test-support/requirement.js";

vi.setConfig({ testTimeout: 60_000 });
const node24 = await requireNode24();
const PLAY = `
  import { connect } from "openenv-ts/client";
  const env = await connect(process.argv[2]);
  await env.reset({ seed: 1 });
  const { observation, outcome } = await env.step({ amount: 2 });
  await env.close();
  console.log(JSON.stringify({ node: process.version, observation, outcome }));
`;

describe.skipIf(!node24.available)("Node 24", () => {
  test.each([
    ["serves a client of the Node that runs the tests", node24.path, process.execPath],
    ["plays against a server of the Node that runs the tests", process.execPath, node24.path],
  ])("%s", async (_, serving, playing) => {
    await using project = await createProject({ "environment.ts": counterModule(), "play.mjs": PLAY });
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir, node: serving });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const { stdout } = await promisify(execFile)(playing, [join(project.dir, "play.mjs"), url]);
    const { stdout: version } = await promisify(execFile)(playing, ["--version"]);
    expect(JSON.parse(stdout)).toEqual({ node: version.trim(), observation: { count: 2 }, outcome: "ok" });
  });

  test("passes SIGTERM with exit code 0", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir, node: node24.path });
    await server.printed(/at (http:\S+)/);
    server.process.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });
});
