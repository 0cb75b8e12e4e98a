import { expect, test } from "vitest";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import type { RunningServer } from "../types.js";

const { start, open } = useServers();

const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });
const pause = ({ url }: RunningServer) => fetchAsOperator(`${url}/sessions/pause`, {}, "POST");
const LEFT = { code: 1012, reason: "the server is paused or stops: reset on another server" };

test("on a paused server a released client's socket closes after the answer that ended its episode", async () => {
  const server = await start(WITH_OPERATOR);
  const [playing, over, unused] = [await open(server), await open(server), await open(server)];
  await playing.ask(RESET);
  await over.ask(RESET);
  expect(await over.ask(step(10))).toMatchObject({ data: { done: true } });
  await pause(server);
  expect(await over.closed).toEqual(LEFT);
  expect(await playing.ask(step(1))).toMatchObject({ data: { observation: { count: 1 }, done: false } });
  expect(await playing.ask(step(9))).toMatchObject({ data: { observation: { count: 10 }, done: true } });
  expect(await playing.closed).toEqual(LEFT);
  expect(await unused.ask(RESET)).toMatchObject({ type: "observation" });
  expect(server.capacity().active_sessions).toBe(1);
});

test("a draining server ends when the episodes of released clients have ended", async () => {
  const server = await start({ drainMs: 60_000 });
  const socket = await open(server);
  await socket.ask(RESET);
  const drained = server.drain();
  expect(await socket.ask(step(50))).toMatchObject({ data: { done: true } });
  expect(await socket.closed).toEqual(LEFT);
  await drained;
});

test("with `move` each reset is refused once, and executed when it is repeated", async () => {
  const server = await start(WITH_OPERATOR);
  const socket = await open(server, "/ws?openenv=move");
  const first = await socket.ask(RESET);
  expect(first).toMatchObject({ type: "observation", openenv: { extensions: ["move"], server: expect.any(String) } });
  await pause(server);
  for (let episode = 0; episode < 2; episode++) {
    expect(await socket.ask(RESET)).toMatchObject({ type: "error", data: { code: "RESET_ELSEWHERE" } });
    expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
    expect(await socket.ask(step(10))).toMatchObject({ data: { done: true } });
  }
  await fetchAsOperator(`${server.url}/sessions/resume`, {}, "POST");
  expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
});

test("with `move` and `batch` each session is asked, and all sockets to one server name it alike", async () => {
  const server = await start(WITH_OPERATOR);
  const socket = await open(server, "/ws?openenv=batch,move");
  const opened = await socket.ask({ type: "open_many", data: { count: 2 } });
  const other = await open(server, "/ws?openenv=batch,move");
  const { openenv } = await other.ask({ type: "state_many", data: { items: [] } });
  // The name of the session differs.
  expect(openenv).toEqual({ ...(opened["openenv"] as object), session: expect.any(String) });
  await socket.ask({ type: "reset_many", data: { items: [{ session: 0 }] } });
  await pause(server);
  // The second session has not begun an episode.
  const items = [{ session: 0 }, { session: 1 }];
  expect(await socket.ask({ type: "reset_many", data: { items } })).toMatchObject({
    data: { items: [{ type: "error", data: { code: "RESET_ELSEWHERE" } }, { type: "observation" }] },
  });
});

test("a server that is paused refuses a client that leaves another server", async () => {
  const server = await start(WITH_OPERATOR);
  await using socket = await open(server, "/ws?openenv=move&moving=1");
  expect(await socket.ask(RESET)).toMatchObject({ type: "observation" });
  await pause(server);
  await expect(open(server, "/ws?openenv=move&moving=1")).rejects.toThrow("503");
});
