import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
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
    ["serves a client on the Node version that runs the tests", node24.path, process.execPath],
    ["plays against a server on the Node version that runs the tests", process.execPath, node24.path],
  ])("%s", async (_, serving, playing) => {
    await using project = await createProject({ "environment.ts": counterModule(), "play.mjs": PLAY });
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir, node: serving });
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const { stdout } = await promisify(execFile)(playing, [join(project.dir, "play.mjs"), url]);
    const { stdout: version } = await promisify(execFile)(playing, ["--version"]);
    expect(JSON.parse(stdout)).toEqual({ node: version.trim(), observation: { count: 2 }, outcome: "ok" });
  });

  test("keeps compiled code for the next start, also of workers", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    const env = { XDG_CACHE_HOME: join(project.dir, "caches") };
    const args = ["serve", "--port", "0", "--workers", "2"];
    await using server = startCommand(args, { cwd: project.dir, node: node24.path, env });
    await server.printed(/at (http:\S+)/);
    server.process.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    const files = await readdir(join(project.dir, "caches/openenv-ts"), { recursive: true });
    // Each module of the command and of its workers.
    expect(files.length).toBeGreaterThan(100);
  });

  test("exits with code 0 on SIGTERM", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir, node: node24.path });
    await server.printed(/at (http:\S+)/);
    server.process.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });
});
