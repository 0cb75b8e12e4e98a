/** What becomes of sessions whose environment hangs, dies or eats all memory. */
import type { ServeOptions } from "openenv-ts/server";
import { describe, expect, test, vi } from "vitest";
import { startIsolated, step, untilGone } from "../../../test-support/environments/isolation.js";
import { waitFor } from "../../../test-support/servers/servers.js";

// Starting an isolate takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 60_000 });

const ENDED = { code: 4000, reason: expect.stringMatching(/./) };

describe.each([
  { isolation: "thread" },
  { isolation: "thread", isolatePoolSize: 1 },
  { isolation: "process" },
  { isolation: "process", isolatePoolSize: 1 },
] as const)("a step over the limit, with %o", (kind) => {
  test.each([
    ["tick", ["aborted: the environment did not answer step within 3 s", "closed"]],
    ["never", ["closed"]],
  ])("%s: the signal aborts, then the environment closes, and other sessions live on", async (op, lines) => {
    // The limit is that of a reset, too, which is the first call of an isolate.
    await using isolated = await startIsolated({ ...kind, stepTimeout: 3 });
    const [slow, other] = [await isolated.play(), await isolated.play()];
    expect(await slow.socket.ask(step(op))).toMatchObject({ data: { code: "TIMEOUT" } });
    expect(await slow.socket.closed).toEqual(ENDED);
    await waitFor(() => isolated.log().includes("closed"));
    expect(isolated.log()).toEqual(lines);
    expect(await other.socket.ask(step("add"))).toMatchObject({ data: { observation: { count: 1 } } });
    if (kind.isolation === "process" && slow.pid !== other.pid) await untilGone(slow.pid);
    if ("isolatePoolSize" in kind) {
      // The isolate that they share stays.
      const next = await isolated.play();
      expect([next.pid, next.thread]).toEqual([other.pid, other.thread]);
    }
  });
});

describe.each(["thread", "process"] as const)("with a %s for each session", (isolation) => {
  test("others are answered while one loops without an end, and the loop ends with its client", async () => {
    await using isolated = await startIsolated({ isolation });
    const [stuck, other] = [await isolated.play(), await isolated.play()];
    stuck.socket.send(step("loop"));
    await waitFor(() => isolated.log().includes("looping"));
    for (let count = 1; count < 20; count++) {
      expect(await other.socket.ask(step("add"))).toMatchObject({ data: { observation: { count } } });
    }
    const late = await isolated.play();
    expect(await late.socket.ask(step("add"))).toMatchObject({ type: "observation" });
    stuck.socket.ws.terminate();
    await waitFor(() => isolated.server.capacity().active_sessions === 2);
    if (isolation === "process") await untilGone(stuck.pid);
  });

  test("a step over the limit is answered TIMEOUT, the session ends after it, its slot is free", async () => {
    await using isolated = await startIsolated({ isolation, stepTimeout: 3, maxConcurrentEnvs: 2 });
    const [stuck, other] = [await isolated.play(), await isolated.play()];
    expect(await stuck.socket.ask(step("loop"))).toMatchObject({ type: "error", data: { code: "TIMEOUT" } });
    expect(await stuck.socket.closed).toEqual({
      code: 4000,
      reason: "the environment did not answer step within 3 s",
    });
    expect(await other.socket.ask(step("add"))).toMatchObject({ type: "observation" });
    const next = await isolated.play();
    expect(await next.socket.ask(step("add"))).toMatchObject({ data: { observation: { count: 1 } } });
    if (isolation === "process") await untilGone(stuck.pid);
  });

  test("process.exit and an uncaught exception end only that session", async () => {
    await using isolated = await startIsolated({ isolation });
    const [one, two, other] = [await isolated.play(), await isolated.play(), await isolated.play()];
    expect(await one.socket.ask(step("exit"))).toMatchObject({
      type: "error",
      data: { code: "ISOLATE_LOST", message: expect.stringMatching(/exited with code 7/) },
    });
    expect(await one.socket.closed).toEqual(ENDED);
    expect(await two.socket.ask(step("stray"))).toMatchObject({ data: { code: "ISOLATE_LOST" } });
    expect(await two.socket.closed).toEqual(ENDED);
    expect(await other.socket.ask(step("add"))).toMatchObject({ type: "observation" });
    await waitFor(() => isolated.server.capacity().active_sessions === 1);
  });

  test("an exhausted heap ends that session alone", async () => {
    await using isolated = await startIsolated({ isolation, isolateMemoryMb: isolation === "thread" ? 40 : 120 });
    const [hungry, other] = [await isolated.play(), await isolated.play()];
    expect(await hungry.socket.ask(step("heap"))).toMatchObject({ data: { code: "ISOLATE_LOST" } });
    expect(await hungry.socket.closed).toEqual(ENDED);
    expect(await other.socket.ask(step("add"))).toMatchObject({ type: "observation" });
  });

  test("an HTTP session whose isolate is lost is answered with the code, and is gone", async () => {
    await using isolated = await startIsolated({ isolation });
    const headers = { "content-type": "application/json" };
    const begun = await fetch(`${isolated.server.url}/reset`, { method: "POST", headers, body: "{}" });
    const session = begun.headers.get("openenv-session") ?? "";
    const ask = (op: string) =>
      fetch(`${isolated.server.url}/step`, {
        method: "POST",
        headers: { ...headers, "openenv-session": session },
        body: JSON.stringify({ action: { op } }),
      });
    const lost = await ask("exit");
    expect([lost.status, (await lost.json()).code]).toEqual([503, "ISOLATE_LOST"]);
    expect((await ask("add")).status).toBe(404);
  });
});

describe.each(["thread", "process"] as const)("with one %s for all sessions", (isolation) => {
  const SHARED: ServeOptions = { isolation, isolatePoolSize: 1, stepTimeout: 3 };

  test("they share it", async () => {
    await using isolated = await startIsolated(SHARED);
    const played = [await isolated.play(), await isolated.play(), await isolated.play()];
    expect(new Set(played.map(({ pid, thread }) => `${pid} ${thread}`)).size).toBe(1);
    if (isolation === "process") expect(played[0]?.pid).not.toBe(process.pid);
  });

  test("a loop without an end takes all with it: TIMEOUT for its own, ISOLATE_LOST for the others, then a new isolate", async () => {
    await using isolated = await startIsolated(SHARED);
    const [stuck, waiting, idle] = [await isolated.play(), await isolated.play(), await isolated.play()];
    stuck.socket.send(step("loop"));
    await waitFor(() => isolated.log().includes("looping"));
    waiting.socket.send({ type: "state" });
    expect(await stuck.socket.receive()).toMatchObject({ data: { code: "TIMEOUT" } });
    expect((await waiting.socket.receive())["data"]).toMatchObject({
      code: expect.stringMatching(/TIMEOUT|ISOLATE_LOST/),
    });
    for (const { socket } of [stuck, waiting, idle]) expect(await socket.closed).toEqual(ENDED);
    const next = await isolated.play();
    expect(await next.socket.ask(step("add"))).toMatchObject({ data: { observation: { count: 1 } } });
    await waitFor(() => isolated.server.capacity().active_sessions === 1);
  });

  test("an isolate that ends in the step of one is lost for all", async () => {
    await using isolated = await startIsolated(SHARED);
    const [one, other] = [await isolated.play(), await isolated.play()];
    expect(await one.socket.ask(step("exit"))).toMatchObject({ data: { code: "ISOLATE_LOST" } });
    expect(await other.socket.closed).toEqual(ENDED);
    expect((await isolated.play()).socket.ws.readyState).toBe(1);
  });
});

test("in a batch, an item whose session is killed fails alone", async () => {
  await using isolated = await startIsolated({ isolation: "thread", stepTimeout: 3 });
  const socket = await isolated.open("/ws?openenv=batch");
  const many = async (type: string, data: object) =>
    ((await socket.ask({ type, data }))["data"] as { items: { type: string; data: Record<string, unknown> }[] }).items;
  await many("open_many", { count: 2 });
  await many("reset_many", { items: [{ session: 0 }, { session: 1 }] });
  const stepBoth = (op: string) =>
    many("step_many", {
      items: [
        { session: 0, data: { op } },
        { session: 1, data: { op: "add" } },
      ],
    });
  expect(await stepBoth("loop")).toMatchObject([{ data: { code: "TIMEOUT" } }, { type: "observation" }]);
  expect(await stepBoth("add")).toMatchObject([{ data: { code: "SESSION_ERROR" } }, { data: { reward: 2 } }]);
  await waitFor(() => isolated.server.capacity().active_sessions === 1);
});

test("kill -9 of a process ends its session without a call in flight, and a new one is to be had", async () => {
  await using isolated = await startIsolated({ isolation: "process", maxConcurrentEnvs: 1 });
  const { socket, pid } = await isolated.play();
  process.kill(pid, "SIGKILL");
  expect(await socket.closed).toEqual({
    code: 4000,
    reason: `the process ${pid} of the environment was killed by SIGKILL`,
  });
  await waitFor(() => isolated.server.capacity().active_sessions === 0);
  expect((await isolated.play()).pid).not.toBe(pid);
});

test("the memory limit of a process holds for what is not JavaScript heap, too", async () => {
  await using isolated = await startIsolated({ isolation: "process", isolateMemoryMb: 200 });
  const { socket, pid } = await isolated.play();
  expect(await socket.ask(step("native"))).toMatchObject({ data: { code: "ISOLATE_LOST" } });
  await untilGone(pid);
});

test("with several processes for all, each session goes to the one with the fewest", async () => {
  await using isolated = await startIsolated({ isolation: "process", isolatePoolSize: 2 });
  const played = await Promise.all(Array.from({ length: 6 }, () => isolated.play()));
  const pids = played.map(({ pid }) => pid);
  const shares = [...new Set(pids)].map((pid) => pids.filter((each) => each === pid).length);
  expect(shares).toEqual([3, 3]);
});
