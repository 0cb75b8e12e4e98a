/** An environment from packed tarballs, installed with npm outside of this repository, served by Bun and by Deno. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { connect } from "openenv-ts/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callCommand } from "../../../../test-support/commands/command-line.js";
import { INSTALL_FLAGS, npm, startProgram } from "../../../../test-support/commands/npm.js";
import { createBunImage, createNpmImage, docker } from "../../../../test-support/commands/npm-image.js";
import { requireBun, requireDeno, requireDocker } from "../../../../test-support/requirement.js";

const [bun, deno, engine] = [await requireBun(), await requireDeno(), await requireDocker()];
const NODE_BASE = "node:20-slim";
const PATH = [bun, deno].map(({ path }) => dirname(path)).join(delimiter) + delimiter + process.env["PATH"];
const BIN = "node_modules/@openenv-ts/cli/bin/openenv.js";

describe.skipIf(!bun.available || !deno.available)("openenv init --runtime bun", { timeout: 300_000 }, () => {
  let home: string;
  let dir: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "openenv-bun-"));
    const { code, stderr } = await callCommand(["init", "star-map", "--runtime", "bun"], { cwd: home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    dir = join(home, "star-map");
    await npm(dir, "ci", ...INSTALL_FLAGS);
  }, 300_000);
  afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

  test.each([
    ["npm start", ["npm", "start", "--", "--port", "0"]],
    ["bunx", ["bunx", "--bun", "openenv", "serve", "--port", "0"]],
    ["bun run", ["bun", "--bun", "run", "start", "--port", "0"]],
    ["deno run -A", ["deno", "run", "-A", BIN, "serve", "--port", "0"]],
    ["openenv serve --runtime deno", ["npx", "openenv", "serve", "--runtime", "deno", "--port", "0"]],
  ])("serves with %s, and ends on SIGTERM", async (name, command) => {
    await using served = startProgram(dir, command, { PATH });
    const [, url = ""] = await served.printed(/star_map \S+ at (http:\S+)/);
    await using env = await connect(url);
    await env.reset();
    const { observation } = await env.step({ amount: 2 });
    expect(observation).toMatchObject({ count: 2 });
    // Node names its keep-alive; the others do not.
    const { headers } = await fetch(`${url}/web/`);
    expect({ name, keepAlive: headers.get("keep-alive") }).toEqual({ name, keepAlive: null });
  });

  test("passes its tests, and its compiled server runs on Bun as in its image", async () => {
    const { stdout } = await npm(dir, "test");
    expect(stdout).toMatch(/Tests\s+3 passed/);
    await npm(dir, "run", "build");
    const dockerfile = await readFile(join(dir, "server/Dockerfile"), "utf8");
    expect(dockerfile).toContain("ARG BASE=oven/bun:1-slim");
    const command = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "") as string[];
    const here = command.map((part) => part.replace(/^\/app/, dir));
    await using served = startProgram(home, here, { PATH, PORT: "0", WORKERS: "1" });
    const [, url = ""] = await served.printed(/star_map at (http:\S+)/);
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "healthy" });
  });

  test.skipIf(!engine.available)("is built into an image that Bun serves, and that ends in time", async () => {
    const tag = `openenv-test-bun:${process.pid}`;
    const base = await createBunImage(NODE_BASE, bun.path);
    try {
      const bases = ["--build-arg", `BUILD_BASE=${await createNpmImage(NODE_BASE)}`, "--build-arg", `BASE=${base}`];
      const built = await callCommand(["build", dir, "-t", tag, ...bases], { cwd: home });
      expect(built).toMatchObject({ code: 0 });
      const id = await docker("run", "--detach", "--publish", "127.0.0.1::8000", tag);
      try {
        const url = `http://${await docker("port", id, "8000/tcp")}`;
        await expect
          .poll(
            () =>
              fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).then(
                ({ status }) => status,
                () => 0,
              ),
            { timeout: 60_000 },
          )
          .toBe(200);
        await using env = await connect(url);
        await env.reset();
        expect((await env.step({ amount: 2 })).observation).toMatchObject({ count: 2 });
        expect(await docker("top", id)).toContain("bun /app/dist/server/app.js");
        await docker("stop", "-t", "30", id);
        expect(await docker("inspect", "--format", "{{.State.ExitCode}}", id)).toBe("0");
      } finally {
        await docker("rm", "--force", id);
      }
    } finally {
      await docker("rmi", "--force", tag, base).catch(() => {});
    }
  });
});
