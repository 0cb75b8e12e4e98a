import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { SMALL_PYTHON_PROJECT } from "../../../../test-support/commands/python-project.js";
import { type Hub, startHub } from "../../../../test-support/hub/hub-server.js";

const URL_LINE = /at (http:\/\/127\.0\.0\.1:\d+)/;
const FREE = ["--port", "0", "--log-level", "warn"];
const FILES = {
  "package.json": '{ "name": "counter", "version": "1.0.0", "type": "module" }',
  "openenv.yaml": "spec_version: 1\nname: counter\nenvironment: game.ts\n",
  "game.ts": counterModule(),
};

let hub: Hub;
let project: Project;
/** The cache lies in the project, so that a repository without packages finds ours. */
let options: { cwd: string; env: Record<string, string> };
beforeEach(async () => {
  hub = await startHub();
  project = await createProject();
  const env = { HF_ENDPOINT: hub.url, HF_TOKEN: "", HF_HOME: project.dir, OPENENV_CACHE: join(project.dir, "cache") };
  options = { cwd: project.dir, env };
});
afterEach(async () => {
  await project[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

async function play(url: string | undefined): Promise<unknown> {
  const body = JSON.stringify({ action: { amount: 2 } });
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/step`, { method: "POST", headers, body })).json();
}

/** The command that the error of `openenv serve` gives, as a shell splits it. */
async function commandOf(target: string): Promise<string[]> {
  const { code, stderr } = await callCommand(["serve", target], options);
  expect(code).toBe(2);
  const [, command = ""] = /Serve it with uv: (uv run .*) \(in code/.exec(stderr) ?? [];
  const { stdout } = await promisify(execFile)("sh", ["-c", `printf '%s\\n' ${command}`]);
  return stdout.trim().split("\n");
}

describe("serve", () => {
  test("fetches a Space, and serves it again from the cache", async () => {
    await hub.addSpace("author/counter", FILES);
    for (const asked of [/resolve/, undefined]) {
      hub.forget();
      await using running = startCommand(["serve", "author/counter", ...FREE], options);
      const [, url] = await running.printed(URL_LINE);
      expect(await play(url)).toMatchObject({ observation: { count: 2 } });
      expect(hub.requests.some(({ path }) => /resolve/.test(path))).toBe(asked !== undefined);
    }
  }, 60_000);

  test("clones a git URL, at the branch after the #", async () => {
    const { repository } = await hub.addSpace("author/counter", { ...FILES, "game.ts": "export const none = 1;" });
    const change = { path: "game.ts", content: Buffer.from(FILES["game.ts"]) };
    await repository.commit("refs/heads/fixed", await repository.resolve("main"), "mend", [change]);
    const elsewhere = { ...options, env: { ...options.env, HF_ENDPOINT: "https://hub.invalid" } };
    const target = `${hub.url}/spaces/author/counter.git#fixed`;
    await using running = startCommand(["serve", target, ...FREE], elsewhere);
    const [, url] = await running.printed(URL_LINE);
    expect(await play(url)).toMatchObject({ observation: { count: 2 } });
  }, 60_000);

  test("says how a Python environment is served, with folders that a shell reads as one argument", async () => {
    await hub.addSpace("author/small", SMALL_PYTHON_PROJECT);
    const files = Object.entries(SMALL_PYTHON_PROJECT).map(([path, text]) => [`author's games/${path}`, text]);
    await using project = await createProject(Object.fromEntries(files));
    const folder = join(project.dir, "author's games");
    expect(await commandOf(folder)).toEqual(
      ["uv", "run", "--isolated", "--project", folder, "--", "uvicorn", "small:app", "--app-dir", folder].concat([
        "--port",
        "8000",
      ]),
    );
    expect(await commandOf("author/small")).toEqual(expect.arrayContaining(["uvicorn", "small:app", "--app-dir"]));
  });

  test.each([
    ["author/none", 1, "There is no Space author/none, or it is private"],
    ["ssh://example.com/repo", 2, "Use an https:// URL"],
    ["https://me:secret@example.com/repo", 2, "Remove the name and password from https://example.com/repo"],
    ["../none/here", 2, "No such file or folder: ../none/here"],
  ])("refuses %s in one line", async (target, code, text) => {
    const ended = await callCommand(["serve", target], options);
    expect(ended).toMatchObject({ code, stderr: expect.stringContaining(text) });
    expect(ended.stderr).not.toContain("secret@");
    expect(ended.stderr).not.toMatch(/^ +at /m);
  });

  test("takes a folder of that name before a Space", async () => {
    await mkdir(join(project.dir, "author"));
    await project.write("author/counter/environment.ts", counterModule());
    await using running = startCommand(["serve", "author/counter", ...FREE], options);
    await running.printed(URL_LINE);
    expect(hub.requests).toEqual([]);
  });
});
