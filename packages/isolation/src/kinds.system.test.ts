/** The same promises for sessions in this process, in threads and in processes, separate and shared. */
import type { ServeOptions } from "openenv-ts/server";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { type IsolatedServer, startIsolated, step } from "../../../test-support/environments/isolation.js";
import { waitFor } from "../../../test-support/servers/servers.js";

// Starting an isolate takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 60_000 });

const KINDS: Record<string, ServeOptions> = {
  "no isolation": {},
  "a thread each": { isolation: "thread" },
  "a process each": { isolation: "process" },
  "one thread for all": { isolation: "thread", isolatePoolSize: 1 },
  "one process for all": { isolation: "process", isolatePoolSize: 1 },
};

describe.each(Object.entries(KINDS))("with %s", (_, options) => {
  let isolated: IsolatedServer;
  beforeAll(async () => {
    isolated = await startIsolated(options);
    return () => isolated[Symbol.asyncDispose]();
  });

  test("an episode is played, sync and async", async () => {
    const socket = await isolated.open();
    expect(await socket.ask({ type: "reset", data: { seed: 4, start: 2 } })).toMatchObject({
      type: "observation",
      data: { observation: { count: 2, text: "4,string" }, done: false },
    });
    expect(await socket.ask(step("add", { amount: 3 }))).toMatchObject({ data: { observation: { count: 5 } } });
    expect(await socket.ask(step("late", { amount: 2 }))).toMatchObject({ data: { reward: 7 } });
    expect(await socket.ask({ type: "state" })).toMatchObject({ data: { total: 3, step_count: 2 } });
  });

  test("sessions share no state", async () => {
    const [one, other] = [await isolated.play(), await isolated.play()];
    await one.socket.ask(step("add", { amount: 5 }));
    expect(await other.socket.ask(step("add"))).toMatchObject({ data: { observation: { count: 1 } } });
    expect(await one.socket.ask({ type: "state" })).toMatchObject({ data: { total: 5 } });
  });

  test("an error of the environment reaches the client with its message, and the session continues", async () => {
    const { socket } = await isolated.play();
    const failure = async (op: string) => (await socket.ask(step(op)))["data"];
    expect(await failure("throw")).toEqual({ code: "EXECUTION_ERROR", fault: "environment", message: "unlucky" });
    expect(await failure("text")).toEqual({
      code: "EXECUTION_ERROR",
      fault: "environment",
      message: "no error at all",
    });
    expect(await failure("bare")).toMatchObject({ code: "EXECUTION_ERROR" });
    expect(await failure("named")).toEqual({ code: "EXECUTION_ERROR", fault: "environment", message: "oddly named" });
    expect(await socket.ask({ type: "reset", data: { start: -1 } })).toMatchObject({
      data: { message: "start must not be -1" },
    });
    await socket.ask({ type: "reset" });
    expect(await socket.ask(step("add"))).toMatchObject({ data: { observation: { count: 1 } } });
  });

  test("in production only the message of an EnvironmentError reaches the client", async () => {
    await using fresh = await startIsolated({ ...options, mode: "production" });
    const { socket } = await fresh.play();
    expect(await socket.ask(step("tell"))).toMatchObject({ data: { message: "told to the client" } });
    expect(await socket.ask(step("throw"))).toMatchObject({ data: { message: expect.stringMatching(/server's log/) } });
  });

  test("bytes, dates, metadata, NaN and toJSON forms arrive", async () => {
    const { socket } = await isolated.play();
    const at = "2024-05-06T07:08:09.000Z";
    expect(await socket.ask(step("echo", { bytes: "AAEC", at }))).toMatchObject({
      data: { observation: { text: "true,3,true", bytes: "AAEC", at } },
    });
    expect(await socket.ask(step("nan"))).toMatchObject({ data: { reward: null } });
    expect(await socket.ask(step("json"))).toMatchObject({
      data: { metadata: { own: "own form", at: "1970-01-01T00:00:00.000Z", inf: [0, null] } },
    });
    expect(await socket.ask(step("context", { metadata: { who: "me" } }))).toMatchObject({
      data: { observation: { text: '[{"who":"me"},null]' } },
    });
  });

  test("a result with a function, or that contains itself, is an error, and the session continues", async () => {
    const { socket } = await isolated.play();
    expect(await socket.ask(step("function"))).toMatchObject({ type: "error", data: { code: "EXECUTION_ERROR" } });
    expect(await socket.ask(step("cycle"))).toMatchObject({
      data: { code: "EXECUTION_ERROR", message: expect.stringMatching(/contains itself/) },
    });
    expect(await socket.ask(step("add"))).toMatchObject({ type: "observation" });
  });

  test("a client that leaves aborts the signal of the call, and the environment is closed", async () => {
    await using fresh = await startIsolated(options);
    const { socket } = await fresh.play();
    socket.send(step("wait"));
    await waitFor(() => fresh.log().includes("waiting"));
    socket.ws.terminate();
    await waitFor(() => fresh.log().length === 3);
    expect(fresh.log()).toEqual(["waiting", expect.stringContaining("aborted: the session has ended"), "closed"]);
    await waitFor(() => fresh.server.capacity().active_sessions === 0);
  });

  test("an HTTP session continues after a time limit, which aborts the signal", async () => {
    await using fresh = await startIsolated(options);
    const post = (path: string, body: object, session = "") =>
      fetch(fresh.server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", "openenv-session": session },
        body: JSON.stringify(body),
      });
    const session = (await post("/reset", {})).headers.get("openenv-session") ?? "";
    const late = await post("/step", { action: { op: "wait" }, timeout_s: 0.3 }, session);
    expect([late.status, (await late.json()).code]).toEqual([504, "TIMEOUT"]);
    await waitFor(() => fresh.log().some((line) => line.startsWith("aborted: the environment did not answer")));
    const next = await post("/step", { action: { op: "add" } }, session);
    expect(await next.json()).toMatchObject({ observation: { count: 1 } });
  });
});
