import { expect, test } from "vitest";
import { createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { RESET, until, WHERE } from "../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

const SECOND_HANGS = `
  if (process.env.OPENENV_WORKER_NUMBER === "1") await new Promise(() => setInterval(() => {}, 60_000));
  ${WHERE}`;

test.each(["0", "1"])(
  "SIGTERM while a worker still starts closes the sockets of those that serve (SHUTDOWN_DRAIN=%s)",
  { timeout: 60_000 },
  async (SHUTDOWN_DRAIN) => {
    await using project = await createProject({ "environment.mjs": SECOND_HANGS });
    const port = await findFreePort();
    const env = { WORKERS: "2", PORT: String(port), SHUTDOWN_DRAIN, SHUTDOWN_GRACE: "1" };
    await using server = startCommand(["serve", "environment.mjs"], { cwd: project.dir, env });
    const url = `http://127.0.0.1:${port}`;
    await until(() =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    const socket = await openTestSocket(`${url}/ws`);
    expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
    server.process.kill("SIGTERM");
    expect(await socket.closed).toMatchObject({ code: 1012 });
    expect(await server.exited).toBe(0);
  },
);
