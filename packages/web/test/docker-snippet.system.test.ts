import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { orsClient } from "../../../test-support/clients/ors-client.js";
import { callCommand, createProject, type Project } from "../../../test-support/commands/command-line.js";
import { cleanEnv } from "../../../test-support/commands/npm.js";
import { createNpmImage } from "../../../test-support/commands/npm-image.js";
import { requireDocker } from "../../../test-support/requirement.js";
import { connect } from "../../openenv/src/connect.js";
import { renderSnippets } from "../src/views/about/snippets.js";

const docker = await requireDocker();

describe.skipIf(!docker.available)("the Docker snippet", () => {
  test("builds and runs a folder from openenv init, next to the server of the page, and answers clients of ORS", async () => {
    const name = `snippet_${process.pid}`;
    const port = 21_000 + (process.pid % 10_000);
    const code = renderSnippets({ ...OPTIONS, name, url: `http://localhost:${port}` })[3]?.code ?? "";
    expect(code).toContain(`http://localhost:${port + 1}/web/`);
    await using project = await createProject();
    const shell = runShell(code, await makeFolder(project));
    try {
      await shell.serves(`http://127.0.0.1:${port + 1}/health`);
      await using client = await connect(`http://127.0.0.1:${port + 1}`);
      expect((await client.reset({ seed: 7 })).observation).toMatchObject({ count: 0 });
      expect((await client.step({ amount: 2 })).observation).toMatchObject({ count: 2 });
      const ors = orsClient(`http://127.0.0.1:${port + 1}`);
      const call = await ors.call(await ors.open(), "step", { amount: 2 });
      expect(call.result).toMatchObject({ ok: true, output: { finished: false } });
    } finally {
      await shell.end();
      await promisify(execFile)(docker.path, ["image", "rm", "--force", `openenv-snippet-${process.pid}`]);
    }
  }, 600_000);

  test("runs the image of a Space", () => {
    const url = "https://chess-club-chess.hf.space";
    const [, , , snippet] = renderSnippets({ ...OPTIONS, name: "chess_env", url, spaceId: "Chess-Club/chess" });
    expect(snippet?.code).toContain(
      "docker run --rm -p 127.0.0.1:8000:8000 registry.hf.space/chess-club-chess:latest\n",
    );
  });
});

const OPTIONS = { action: {}, fits: true, reset: {}, mode: "simulation", guarded: false, spaceId: null } as const;

/**
 * A new project, but with a base image that has npm, and with openenv-ts of this repository. It has the name of that in
 * build.system.test.ts, so that the engine can reuse the layer of its packages.
 */
async function makeFolder(project: Project): Promise<string> {
  expect(await callCommand(["init", "echo-env"], { cwd: project.dir })).toMatchObject({ code: 0, stderr: "" });
  const dir = join(project.dir, "echo-env");
  const dockerfile = join(dir, "server/Dockerfile");
  const base = await createNpmImage("node:20-slim");
  const text = await readFile(dockerfile, "utf8");
  const local = text
    .replace(/^ARG BUILD_BASE=.*$/m, `ARG BUILD_BASE=${base}`)
    .replace(/^ARG BASE=.*$/m, "ARG BASE=node:20-slim");
  await writeFile(dockerfile, local);
  return dir;
}

/** Runs the text as if pasted into a terminal, with all processes that it starts. */
function runShell(code: string, cwd: string) {
  const path = `${dirname(docker.path)}${delimiter}${process.env["PATH"]}`;
  const env = docker.path.includes("/") ? { ...cleanEnv(), PATH: path } : cleanEnv();
  const child = spawn("bash", ["-euc", code], { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (output += String(part)));
  const ended = once(child, "close");
  return {
    async serves(url: string): Promise<void> {
      while (child.exitCode === null && child.signalCode === null) {
        const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
        if (answer?.ok) return;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      throw new Error(`the snippet exited:\n${output}`);
    },
    async end(): Promise<void> {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
      await ended;
    },
  };
}
