/** What the guides of the Python package type and import, against an environment of this package and one of theirs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import echo from "../../envs/echo/server/environment.js";
import { createPythonFolder } from "../../test-support/commands/python-package.js";
import { createPythonProject, type PythonProject } from "../../test-support/commands/python-project.js";
import { findFreePort } from "../../test-support/free-port.js";
import { requirePython, requireUv } from "../../test-support/requirement.js";
import { until } from "../../test-support/servers/cluster.js";

const python = await requirePython();
const uv = await requireUv();
/** The Python package takes seconds to load, and uv may have to download it first. */
const TIME_LIMIT = { timeout: 400_000 };
const PAGE = readFileSync(join(import.meta.dirname, "../../docs/guide/python-environments.md"), "utf8");
const CLIENT = join(import.meta.dirname, "../../envs/echo/echo_env");

test.skipIf(!python.available)(
  "from envs.echo_env import EchoAction, EchoEnv plays our server",
  TIME_LIMIT,
  async () => {
    const files = readdirSync(CLIENT).map((name) => [
      `envs/echo_env/${name}`,
      readFileSync(join(CLIENT, name), "utf8"),
    ]);
    await using folder = await createPythonFolder(Object.fromEntries(files));
    await using server = await serve(echo, { port: 0, logLevel: "silent" });
    const address = server.url.replace("http:", "ws:");
    const script = `
import asyncio, json
from envs.echo_env import EchoAction, EchoEnv, EchoObservation

async def main():
    async with EchoEnv(base_url="${server.url}") as client:
        await client.reset()
        return (await client.step(EchoAction(message="Hello"))).observation

seen = [asyncio.run(main())]
with EchoEnv(base_url="${address}").sync() as client:
    client.reset()
    seen.append(client.step(EchoAction(message="Hello")).observation)
assert all(isinstance(observation, EchoObservation) for observation in seen)
print(json.dumps([observation.echoed_message for observation in seen]))
`;
    expect(await folder.run(python.path, script)).toEqual(["Hello", "Hello"]);
  },
);

describe.skipIf(!python.available || !uv.available)("docs/guide/python-environments.md", TIME_LIMIT, () => {
  let project: PythonProject;
  beforeAll(async () => {
    project = await createPythonProject(python.path);
  }, TIME_LIMIT.timeout);
  afterAll(() => project[Symbol.asyncDispose]());

  test.each(["uv run server", "uv run uvicorn"])(
    "%s starts a Python environment, which our client plays",
    async (start) => {
      const line = PAGE.split("\n").find((text) => text.startsWith(start)) ?? "";
      const port = String(await findFreePort());
      const [, ...args] = line.replace(/ +#.*/, "").replace("8001", port).split(" ");
      // uv and what it starts are one group, which is ended as a whole.
      const child = spawn(uv.path, [...args, "--host", "127.0.0.1"], {
        cwd: project.dir,
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
      });
      const exited = once(child, "exit");
      try {
        const url = `http://127.0.0.1:${port}`;
        let log = "";
        await new Promise<void>((resolve, reject) => {
          child.stderr.setEncoding("utf8").on("data", (text: string) => {
            log += text;
            if (log.includes("Application startup complete")) resolve();
          });
          child.once("error", reject);
          child.once("exit", () => reject(new Error(`uv ended before the server started:\n${log}`)));
        });
        // Uvicorn logs this before it listens.
        await until(() =>
          fetch(`${url}/health`).then(
            ({ ok }) => ok,
            () => false,
          ),
        );
        await using env = await connect(url);
        await env.reset();
        expect((await env.step({ message: "Hello" })).observation).toMatchObject({ echoed_message: "Hello" });
      } finally {
        if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
        await exited;
      }
    },
  );
});
