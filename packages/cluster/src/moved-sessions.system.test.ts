/** Sessions of a journal that continue in another worker, or could continue on another server. */
import { afterAll, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject } from "../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { startRedis, type TestRedis } from "../../../test-support/journals/redis.js";
import { requireRedis } from "../../../test-support/requirement.js";
import { serveProject } from "../../../test-support/servers/killable.js";
import { BEGIN, TOKEN } from "../../../test-support/sockets/resumable.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";

const COUNTER = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "counter_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
});
export default defineEnvironment(contract, () => {
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    step: ({ amount }) => ({ observation: { count: (count += amount) }, reward: 0, done: false }),
    snapshot: () => ({ count }),
    restore: (saved) => void ({ count } = saved),
  };
});
`;

const component = await requireRedis();
let redis: TestRedis | undefined;
if (component.available) redis = await startRedis(component.path);
afterAll(() => redis?.[Symbol.asyncDispose]());

test("sessions are found by their ids after a restart, also in another worker", { timeout: 120_000 }, async () => {
  await using project = await createProject({ "environment.mjs": COUNTER });
  const port = await findFreePort();
  const settings = { WORKERS: "2", JOURNAL: "sessions.db" };
  await using first = await serveProject(project, port, settings);
  const envs = await Promise.all(Array.from({ length: 8 }, () => connect(first.url, { resume: true })));
  await Promise.all(envs.map((env) => env.reset()));
  await Promise.all(envs.map((env) => env.step({ amount: 1 })));
  await first.signal("SIGKILL");
  await using _second = await serveProject(project, port, settings);
  const copies = await Promise.all(
    envs.map(async (env) => {
      expect(await env.step({ amount: 2 })).toMatchObject({ recovered: true });
      return (await env.fork(1))[0];
    }),
  );
  const steps = await Promise.all(copies.map((copy) => copy?.step({ amount: 3 })));
  expect(steps.map((step) => step?.observation["count"])).toEqual(envs.map(() => 6));
  await Promise.all([...envs, ...copies].map((env) => env?.close()));
});

test.skipIf(!component.available)(
  "a connection that arrives late at another server does not end the session of its client",
  {
    timeout: 120_000,
  },
  async () => {
    await using project = await createProject({ "environment.mjs": COUNTER });
    const settings = { JOURNAL: redis?.url ?? "" };
    await using one = await serveProject(project, await findFreePort(), settings);
    await using two = await serveProject(project, await findFreePort(), settings);
    await using begun = await openTestSocket(`${one.url}/ws?openenv=resume`);
    const { session_id } = (await begun.ask(BEGIN))["data"] as { session_id: string };
    const come = async (url: string, attempt: number) => {
      const socket = await openTestSocket(`${url}/ws?openenv=resume&session_id=${session_id}`);
      const { data } = (await socket.ask({ type: "resume", data: { token: TOKEN, attempt } })) as { data: object };
      return { socket, data };
    };
    const live = await come(one.url, 2);
    expect(live.data).toMatchObject({ recovered: true });
    expect((await come(two.url, 1)).data).toMatchObject({ code: "SESSION_ELSEWHERE" });
    // The client comes again after 1012, and never after 4001.
    expect((await live.socket.closed).code).toBe(1012);
    expect((await come(one.url, 3)).data).toMatchObject({ recovered: true });
  },
);
