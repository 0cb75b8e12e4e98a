import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { connect } from "../../openenv/src/connect.js";
import { requireDocker } from "../../openenv/test-support/requirement.js";
import { renderSnippets } from "../src/views/about/snippets.js";

const docker = await requireDocker();
const run = promisify(execFile);

const SERVER = `
  import { defineContract, defineEnvironment } from "openenv-ts";
  import { serve } from "openenv-ts/server";
  import * as z from "zod";
  const contract = defineContract({ name: "boxed_env", action: z.object({}), observation: z.object({ boxed: z.boolean() }) });
  const answer = () => ({ observation: { boxed: true } });
  await serve(defineEnvironment(contract, () => ({ reset: answer, step: answer })), { handleSignals: true });
`;
const DOCKERFILE = `FROM node:20-slim
ENV HOST=0.0.0.0 PORT=8000
COPY server.mjs /app/server.mjs
CMD ["node", "/app/server.mjs"]
`;

describe.skipIf(!docker.available)("the Docker snippet", () => {
  test("builds and runs the environment's folder, beside the server of the page", async () => {
    const name = `snippet_${process.pid}`;
    const port = 21_000 + (process.pid % 10_000);
    const code = renderSnippets({ ...OPTIONS, name, url: `http://localhost:${port}` })[3]?.code ?? "";
    expect(code).toContain(`http://localhost:${port + 1}/web/`);
    const folder = await makeFolder();
    const path = `${dirname(docker.path)}${delimiter}${process.env["PATH"]}`;
    const env = docker.path.includes("/") ? { ...process.env, PATH: path } : process.env;
    const shell = spawn("bash", ["-euc", code], { cwd: folder, env, stdio: "ignore", detached: true });
    const ended = once(shell, "exit");
    try {
      await healthy(`http://127.0.0.1:${port + 1}/health`, ended);
      await using client = await connect(`http://127.0.0.1:${port + 1}`);
      expect((await client.reset()).observation).toEqual({ boxed: true });
    } finally {
      if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, "SIGTERM");
      await ended;
      await run(docker.path, ["image", "rm", "--force", `openenv-snippet-${process.pid}`]);
      await rm(folder, { recursive: true });
    }
  }, 180_000);

  test("runs the image of a Space", () => {
    const url = "https://chess-club-chess.hf.space";
    const [, , , snippet] = renderSnippets({ ...OPTIONS, name: "chess_env", url, spaceId: "Chess-Club/chess" });
    expect(snippet?.code).toContain(
      "docker run --rm -p 127.0.0.1:8000:8000 registry.hf.space/chess-club-chess:latest\n",
    );
  });
});

const OPTIONS = { action: {}, reset: {}, mode: "simulation", guarded: false, spaceId: null } as const;

/** As `openenv init` lays an environment out, made of one file. */
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "openenv-snippet-"));
  await mkdir(join(folder, "server"));
  await writeFile(join(folder, "server/Dockerfile"), DOCKERFILE);
  await build({
    stdin: { contents: SERVER, resolveDir: import.meta.dirname, loader: "ts" },
    outfile: join(folder, "server.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    // Packages of CommonJS ask for builtins.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire("/");' },
  });
  return folder;
}

async function healthy(url: string, ended: Promise<unknown>): Promise<void> {
  let over = false;
  void ended.then(() => (over = true));
  while (!over) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("the snippet came to an end");
}
