/** A session whose restore ends the process takes the others of its worker down only a few times. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { serveProject } from "../../../../test-support/servers/killable.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";

/** An environment that ends its process when it restores a count of 13. To restore any other takes a second. */
const TALLY = `
import { defineContract, defineEnvironment } from "openenv-ts";
import { appendFileSync } from "node:fs";
import * as z from "zod";
const contract = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ pid: z.int(), count: z.int() }),
});
export default defineEnvironment(contract, () => {
  let count = 0;
  const end = () => {
    appendFileSync("ends", ".");
    process.exit(1);
  };
  return {
    reset: () => ({ observation: { pid: process.pid, count: (count = 0) } }),
    step: ({ amount }) => ({ observation: { pid: process.pid, count: (count += amount) } }),
    snapshot: () => ({ count }),
    restore: async (saved) => {
      if (saved.count === 13) end();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      ({ count } = saved);
    },
  };
});
`;

test("a session is lost when five processes have ended while they restored it", { timeout: 300_000 }, async () => {
  await using project = await createProject({ "environment.mjs": TALLY });
  await using server = await serveProject(project, await findFreePort(), { WORKERS: "1", JOURNAL: "sessions.db" });
  const address = `${server.url}/session/a-name-of-a-session`;
  const ask = async (type: string, data: Record<string, number> = {}): Promise<unknown> => {
    await using socket = await openTestSocket(`${address}/ws`);
    return await socket.ask({ type, data });
  };
  const envs = await Promise.all([13, 1].map(() => connect(server.url, { resume: true, timeoutMs: 120_000 })));
  const [poison, other] = envs as [(typeof envs)[0], (typeof envs)[0]];
  for (const env of envs) await env.reset();
  await ask("reset");
  const [{ observation }] = await Promise.all([poison.step({ amount: 13 }), other.step({ amount: 1 })]);
  await ask("step", { amount: 13 });
  process.kill((observation as { pid: number }).pid, "SIGKILL");
  const ends = async (): Promise<number> => (await readFile(join(project.dir, "ends"), "utf8")).length;

  const lost = "5 processes have ended while they restored it";
  // It is not refused, although its process has ended several times.
  const continued = other.step({ amount: 1 });
  await expect(poison.step({ amount: 1 })).rejects.toMatchObject({ message: expect.stringContaining(lost) });
  expect(await ends()).toBe(5);
  expect((await continued).observation).toMatchObject({ count: 2 });
  await poison.reset();
  expect((await poison.step({ amount: 2 })).observation).toMatchObject({ count: 2 });

  // By address: without a client that connects again by itself.
  await expect
    .poll(() => ask("step", { amount: 1 }).catch(() => "away"), { timeout: 120_000 })
    .toMatchObject({
      data: { openenv_code: "NO_EPISODE", message: expect.stringContaining(lost) },
    });
  expect(await ends()).toBe(10);
  expect((await other.step({ amount: 1 })).observation).toMatchObject({ count: 3 });
});
