import { expect, test } from "vitest";
import { createProject, startCommand } from "../../../../../test-support/commands/command-line.js";
import { connectVector } from "../index.js";

const WHERE = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const where = defineContract({ name: "where_env", action: z.object({}), observation: z.object({ pid: z.int() }) });
export default defineEnvironment(where, () => ({
  reset: () => ({ observation: { pid: process.pid } }),
  step: () => ({ observation: { pid: process.pid } }),
}));
`;

test("sessions that one worker refuses open on another, and a worker that dies loses only its own", async () => {
  await using project = await createProject({ "environment.mjs": WHERE });
  const env = { WORKERS: "2", MAX_CONCURRENT_ENVS: "3" };
  const command = startCommand(["serve", "environment.mjs", "--port", "0"], { cwd: project.dir, env });
  try {
    const [, url = ""] = await command.printed(/at (http:\S+)/);
    await using envs = await connectVector(url, { size: 7 });
    const first = await envs.reset();
    const pids = first.map((result) => result?.observation?.["pid"]);
    expect(first.filter((result) => result?.outcome === "env_error")).toMatchObject([
      { error: { code: "CAPACITY_REACHED" } },
    ]);
    expect(new Set(pids.filter(Boolean)).size).toBe(2);
    process.kill(pids[0] as number, "SIGKILL");
    const stepped = await envs.step(Array(7).fill({}));
    expect(stepped.slice(0, 6).map((result) => result?.outcome)).toEqual(
      pids.slice(0, 6).map((pid) => (pid === pids[0] ? "lost" : "ok")),
    );
  } finally {
    command.process.kill("SIGTERM");
    await command.exited;
  }
}, 60_000);
