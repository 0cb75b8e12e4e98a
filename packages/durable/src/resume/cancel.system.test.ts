/** A process is killed after the answer of a cancelled step has left it, and before the code of the step has ended. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { serveProject } from "../../../../test-support/servers/killable.js";
import { BEGIN, codeOf, countOf, TOKEN as token } from "../../../../test-support/sockets/resumable.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";

/** A step of 13 never ends in the first process. */
const environment = (options: string, methods: string) => `
import { defineContract, defineEnvironment } from "openenv-ts";
import { appendFileSync } from "node:fs";
import * as z from "zod";
const contract = defineContract({
  name: "tally_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
});
export default defineEnvironment(contract, () => {
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: async ({ amount }) => {
      if (amount === 13) appendFileSync("begun", ".");
      if (amount === 13) await new Promise(() => {});
      return { observation: { count: (count += amount) } };
    },
    ${methods}
  };
}, ${options});
`;

test.each([
  ["snapshot", environment("{}", "snapshot: () => ({ count }), restore: (saved) => void ({ count } = saved),")],
  ["replay", environment("{ seeded: true }", "")],
])(
  "a repeat gets CANCELLED, and the session continues before the step by %s",
  { timeout: 60_000 },
  async (_tier, code) => {
    await using project = await createProject({ "environment.mjs": code });
    const port = await findFreePort();
    const serve = () => serveProject(project, port, { WORKERS: "1", JOURNAL: "sessions.db" });
    await using first = await serve();
    const socket = await openTestSocket(`${first.url}/ws?openenv=resume,cancel`);
    const { data } = (await socket.ask(BEGIN)) as { data: { session_id: string } };
    await socket.ask({ type: "reset", seq: 1, ack: 0 });
    await socket.ask({ type: "step", data: { amount: 1 }, seq: 2, ack: 1 });
    const step = { type: "step", data: { amount: 13 }, seq: 3, ack: 2 };
    socket.send(step, { type: "cancel", data: { seq: 3 } });
    expect(codeOf(await socket.receive())).toBe("CANCELLED");
    await first.signal("SIGKILL");
    await using second = await serve();
    await using again = await openTestSocket(`${second.url}/ws?openenv=resume,cancel&session_id=${data.session_id}`);
    expect(await again.ask({ type: "resume", data: { token } })).toMatchObject({
      data: { recovered: true, last_seq: 3 },
    });
    expect(codeOf(await again.ask(step))).toBe("CANCELLED");
    expect(countOf(await again.ask({ type: "step", data: { amount: 5 }, seq: 4, ack: 3 }))).toBe(6);
    expect(await readFile(join(project.dir, "begun"), "utf8")).toBe(".");
  },
);

test("the client of such a session continues", { timeout: 60_000 }, async () => {
  const code = environment("{ seeded: true }", "");
  await using project = await createProject({ "environment.mjs": code });
  const port = await findFreePort();
  const serve = () => serveProject(project, port, { WORKERS: "1", JOURNAL: "sessions.db" });
  await using first = await serve();
  await using env = await connect(first.url, { resume: true });
  await env.reset();
  await env.step({ amount: 1 });
  const signal = AbortSignal.timeout(300);
  await expect(env.step({ amount: 13 }, { signal })).rejects.toMatchObject({ code: "CANCELLED" });
  const next = env.step({ amount: 5 });
  await first.signal("SIGKILL");
  await using _second = await serve();
  expect((await next).observation).toEqual({ count: 6 });
});
