import { expect, test } from "vitest";
import { createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { serverVariables, stopSeconds } from "./targets/container.js";
import { parseTopology } from "./topology.js";

const SLOW = `
  import { defineContract, defineEnvironment } from "openenv-ts";
  import * as z from "zod";
  const slow = defineContract({ name: "slow_env", action: z.object({}), observation: z.object({}) });
  export default defineEnvironment(slow, () => ({
    reset: () => ({ observation: {} }),
    step: () => new Promise(() => {}),
  }));`;

test.each([1, 2])(
  "a server of %i workers that is stopped as rendered closes its sockets before it would be killed",
  { timeout: 60_000 },
  async (workers) => {
    const topology = parseTopology({ image: "slow:1", workers, graceSeconds: 2 });
    await using project = await createProject({ "environment.mjs": SLOW });
    await using server = startCommand(["serve", "environment.mjs"], {
      cwd: project.dir,
      env: { ...serverVariables(topology), HOST: "127.0.0.1", PORT: "0" },
    });
    const [, url] = await server.printed(/at (http:\S+)/);
    await using idle = await openTestSocket(`${url}/ws`);
    await using busy = await openTestSocket(`${url}/ws`);
    for (const socket of [idle, busy]) await socket.ask({ type: "reset" });
    busy.send({ type: "step", data: {} });
    server.process.kill("SIGTERM");
    // Like an engine, with three seconds more for a busy machine.
    const timer = setTimeout(() => server.process.kill("SIGKILL"), (stopSeconds(topology) + 3) * 1000);
    expect(await server.exited).toBe(0);
    clearTimeout(timer);
    expect([(await idle.closed).code, (await busy.closed).code]).toEqual([1012, 1012]);
  },
);
