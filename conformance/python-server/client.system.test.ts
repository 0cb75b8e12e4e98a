/** Our client against the released Python server. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineContract, defineEnvironment } from "openenv-ts";
import {
  type ConnectionError,
  type ContractMismatchError,
  connect,
  connectVector,
  type RemoteError,
} from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { requirePython } from "../../test-support/requirement.js";
import { type PythonServer, startPythonServer } from "./start-server.js";

const counter = defineContract({
  name: "counter_env",
  action: z.object({ amount: z.int().min(-100).max(100), wait_seconds: z.number().min(0).default(0) }),
  observation: z.object({ count: z.int().default(0), seen_at: z.string(), ratio: z.number().nullable() }),
  state: z.object({ total: z.int().default(0) }),
  reset: z.object({ start: z.int().default(0) }),
});

const CAPACITY = 3;
const python = await requirePython();

describe.skipIf(!python.available)("the client against the released Python server", { timeout: 90_000 }, () => {
  let server: PythonServer;
  beforeAll(async () => {
    server = await startPythonServer(python.path, CAPACITY);
  }, 180_000);
  // It frees a place a moment after the socket has closed.
  afterEach(() => server.emptied());
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("plays a typed episode", async () => {
    await using env = await connect(server.url, counter);
    const first = await env.reset({ seed: 7, episodeId: "e1", start: 1 });
    expect(first).toMatchObject({ outcome: "ok", observation: { count: 1 }, reward: null, done: false });
    expect(first.metadata).toEqual({ seed: 7 });
    const rewards: unknown[] = [];
    let result = first;
    while (!result.done) {
      result = await env.step({ amount: 3 });
      rewards.push(result.reward);
    }
    expect(rewards).toEqual([3, 3, 3]);
    expect(result.outcome).toBe("terminated");
    expect(Object.keys(result.observation).sort()).toEqual(["count", "ratio", "seen_at"]);
    expect(await env.state()).toEqual({ episode_id: "e1", step_count: 3, total: 9 });
  });

  it("is one of the servers of a vector environment, next to one of this package", async () => {
    const ours = defineEnvironment(counter, () => {
      const observe = (count: number) => ({ observation: { count, seen_at: "", ratio: null } });
      return {
        reset: ({ start }) => observe(start),
        step: ({ amount }) => observe(amount),
        state: () => ({ total: 0 }),
      };
    });
    await using other = await serve(ours, { port: 0, logLevel: "silent" });
    await using envs = await connectVector([server.url, other.url], counter, { size: 5 });
    expect((await envs.reset({ start: 2 })).map((result) => result?.observation?.count)).toEqual([2, 2, 2, 2, 2]);
    expect(envs.places().filter((place) => place === server.url)).toHaveLength(3);
    const results = await envs.step(Array.from({ length: 5 }, () => ({ amount: 1 })));
    const python = envs.places().map((place) => place === server.url);
    expect(results.map((result) => result?.observation?.count)).toEqual(python.map((is) => (is ? 3 : 1)));
  });

  it("plays many episodes, each on its own socket; a refused session fails alone", async () => {
    await using envs = await connectVector(server.url, counter, { size: CAPACITY + 1, binary: true });
    const starts = Array.from({ length: CAPACITY + 1 }, (_, start) => ({ start }));
    const first = await envs.reset(starts);
    const refused = first.findIndex((result) => result?.outcome === "env_error");
    expect(first.filter((result) => result?.outcome === "ok")).toHaveLength(CAPACITY);
    expect(first[refused]).toMatchObject({ error: { code: "CAPACITY_REACHED" } });
    const results = await envs.step(starts.map(({ start }) => (start === refused ? null : { amount: 1 })));
    expect(results.map((result) => result?.observation?.count ?? null)).toEqual(
      starts.map(({ start }) => (start === refused ? null : start + 1)),
    );
    await envs.close();
  });

  it("plays a generic episode, with actions checked against /schema", async () => {
    await using env = await connect(server.url);
    await env.reset({ start: 8 });
    const refused = (await env.step({ amount: 200, more: 1 }).catch((cause: unknown) => cause)) as RemoteError;
    expect(refused.code).toBe("VALIDATION_ERROR");
    expect(refused.errors.map(({ loc }) => loc)).toEqual([["more"], ["amount"]]);
    expect(await env.step({ amount: 1 })).toMatchObject({ observation: { count: 9 }, reward: 1, done: false });
    expect((await env.state())["total"]).toBe(1);
  });

  it("gets the server's own errors, and the session goes on", async () => {
    await using env = await connect(server.url, { check: false });
    await env.reset();
    const invalid = (await env.step({ amount: "many" }).catch((cause: unknown) => cause)) as RemoteError;
    expect(invalid).toMatchObject({ code: "VALIDATION_ERROR", outcome: "env_error" });
    expect(invalid.errors[0]?.loc).toEqual(["amount"]);
    await expect(env.step({ amount: 13 })).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
    expect(await env.step({ amount: 2 })).toMatchObject({ observation: { count: 2 } });
  });

  it("tells a cut episode from one that ended, and carries metadata both ways", async () => {
    await using env = await connect(server.url, counter);
    await env.reset({ split: "train", index: 2 });
    const cut = await env.step({ amount: 99 }, { metadata: { why: "test" } });
    expect(cut).toMatchObject({ outcome: "truncated", done: true, metadata: { why: "test", truncated: true } });
  });

  it("reads null where Python had NaN", async () => {
    await using env = await connect(server.url, counter);
    await env.reset({ start: -5 });
    expect((await env.step({ amount: 1 })).observation).toMatchObject({ count: -4, ratio: null });
  });

  it("never takes a late answer for the next one", async () => {
    await using env = await connect(server.url, counter);
    await env.reset();
    await expect(env.step({ amount: 1, wait_seconds: 0.5 }, { timeoutMs: 50 })).rejects.toMatchObject({
      code: "CLIENT_TIMEOUT",
    });
    await expect(env.step({ amount: 2 })).rejects.toMatchObject({ code: "SESSION_LOST" });
    await env.reset({ start: 5 });
    await sleep(600);
    expect((await env.step({ amount: 2 })).observation.count).toBe(7);
    expect((await env.state()).step_count).toBe(1);
  });

  it("is refused at capacity with the numbers, and gets in when a session has ended", async () => {
    const held = [];
    for (let i = 0; i < CAPACITY; i++) {
      const env = await connect(server.url, { check: false });
      expect((await env.tryReset()).outcome).toBe("ok");
      held.push(env);
    }
    await using late = await connect(server.url, { check: false });
    const refusal = (await late.reset().catch((cause: unknown) => cause)) as RemoteError;
    expect(refusal).toMatchObject({ code: "CAPACITY_REACHED", details: { max_sessions: CAPACITY } });
    await expect(late.step({ amount: 1 })).rejects.toMatchObject({ code: "SESSION_LOST" });
    await Promise.all(held.map((env) => env.close()));
    await expect.poll(async () => (await late.tryReset()).outcome, { timeout: 20_000 }).toBe("ok");
  });

  it("compares the contract by its fields, as Python tells no hash", async () => {
    const other = defineContract({
      name: "other_env",
      action: z.object({ amount: z.string() }),
      observation: z.object({ count: z.int(), left: z.int() }),
    });
    const error = (await connect(server.url, other).catch((cause: unknown) => cause)) as ContractMismatchError;
    expect(error.code).toBe("CONTRACT_MISMATCH");
    expect(error.fields.join()).toMatch(/amount/);
    expect(error.fields.join()).toMatch(/left/);
    await using env = await connect(server.url, other, { check: false });
    await expect(env.reset()).rejects.toThrow(/observation\.left/);
  });

  it("reads tasks and metadata", async () => {
    await using env = await connect(server.url, counter);
    expect((await env.metadata()).name).toBe("CounterEnvironment");
    expect(await env.tasks.splits()).toEqual([
      { name: "train", type: "train" },
      { name: "test", type: "test" },
      { name: "hard", type: "test", size: 2 },
    ]);
    expect(await env.tasks.count("train")).toBe(3);
    expect(await env.tasks.list("test")).toEqual([{ id: "test-0" }, { id: "test-1" }, { id: "test-2" }]);
    expect(await env.tasks.get("train", 1)).toEqual({ id: "train-1" });
    await expect(env.tasks.get("train", 7)).rejects.toMatchObject({ code: "REQUEST_FAILED", details: { status: 400 } });
    await expect(env.tasks.range("train", 0, 2)).rejects.toMatchObject({ code: "TASKS_NOT_SUPPORTED" });
  });

  // The last one: it ends the server.
  it("learns from the close code that the server is going down", async () => {
    await using env = await connect(server.url, counter);
    await env.reset();
    await server.stop("SIGTERM");
    await expect.poll(() => env.sessionLost, { timeout: 20_000 }).toBe(true);
    const error = (await env.step({ amount: 1 }).catch((cause: unknown) => cause)) as ConnectionError;
    expect(error.message).toContain("(1012)");
  });
});
