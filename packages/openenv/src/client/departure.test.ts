import { describe, expect, test } from "vitest";
import { counterContract } from "../../../../test-support/environments/counter.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { startGateway } from "../../../../test-support/proxies/gateway.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import type { RunningServer } from "../server/types.js";
import { connectVector } from "./index.js";

const { start } = useServers();
const pause = ({ url }: RunningServer) => fetchAsOperator(`${url}/sessions/pause`, {}, "POST");
const held = (server: RunningServer) => server.capacity().active_sessions;

/** Two servers behind one address: new connections go to the second one after `turn`. */
async function startPair() {
  const [one, two] = [await start(WITH_OPERATOR), await start(WITH_OPERATOR)];
  const gateway = await startGateway(one, "passes");
  return { one, two, gateway, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

describe.each([false, true])("a server that is paused (resume: %s)", (resume) => {
  test("keeps the episode of a session, whose next reset is made on another server", async () => {
    await using pair = await startPair();
    await using env = await connect(pair.gateway.url, counterContract, { resume });
    await env.reset();
    await pause(pair.one);
    pair.gateway.turn("passes", pair.two);
    expect((await env.step({ amount: 2 })).observation.count).toBe(2);
    expect([held(pair.one), held(pair.two)]).toEqual([1, 0]);
    expect((await env.reset({ start: 3 })).observation.count).toBe(3);
    expect((await env.step({ amount: 1 })).observation.count).toBe(4);
    await expect.poll(() => [held(pair.one), held(pair.two)]).toEqual([0, 1]);
  });

  test("keeps the session where no other server takes it", async () => {
    const server = await start(WITH_OPERATOR);
    await using env = await connect(server.url, counterContract, { resume });
    await using envs = await connectVector(server.url, counterContract, { size: 2, resume });
    await env.reset();
    await envs.reset();
    await pause(server);
    for (const start of [1, 2]) {
      expect((await env.reset({ start })).observation.count).toBe(start);
      const results = await envs.reset({ start });
      expect(results).toMatchObject([
        { outcome: "ok", reopened: false, observation: { count: start } },
        { outcome: "ok" },
      ]);
    }
    expect(held(server)).toBe(3);
  });

  test.each([false, true])(
    "is left by the sessions of connectVector one by one (own sockets: %s)",
    async (ownSockets) => {
      await using pair = await startPair();
      await using envs = await connectVector(pair.gateway.url, counterContract, { size: 3, resume, ownSockets });
      await envs.reset();
      await pause(pair.one);
      pair.gateway.turn("passes", pair.two);
      const first = await envs.reset([{ start: 5 }, null, null]);
      expect(first[0]).toMatchObject({ outcome: "ok", reopened: false, observation: { count: 5 } });
      await expect.poll(() => [held(pair.one), held(pair.two)]).toEqual([2, 1]);
      const stepped = await envs.step([{ amount: 1 }, { amount: 2 }, { amount: 10 }]);
      expect(stepped.map((result) => result?.observation?.count)).toEqual([6, 2, 10]);
      expect(await envs.reset()).toMatchObject([
        { outcome: "ok" },
        { outcome: "ok" },
        { outcome: "ok", reopened: false },
      ]);
      await expect.poll(() => [held(pair.one), held(pair.two)]).toEqual([0, 3]);
    },
  );
});

test("the sessions of a server that stops move to the other URLs of connectVector", async () => {
  const servers = [await start({ drainMs: 60_000 }), await start(), await start()] as const;
  const urls = servers.map(({ url }) => url);
  await using envs = await connectVector(urls, counterContract, { size: 6, autoreset: "next-step" });
  await envs.reset();
  expect(servers.map(held)).toEqual([2, 2, 2]);
  const drained = servers[0].drain();
  const ended = await envs.step(Array(6).fill({ amount: 10 }));
  expect(ended.map((result) => result?.outcome)).toEqual(Array(6).fill("terminated"));
  const begun = await envs.step(Array(6).fill({ amount: 1 }));
  expect(begun.map((result) => [result?.outcome, result?.began])).toEqual(Array(6).fill(["ok", true]));
  await drained;
  expect(servers.map(held)).toEqual([0, 3, 3]);
  expect(new Set(envs.places())).toEqual(new Set(urls.slice(1)));
});
