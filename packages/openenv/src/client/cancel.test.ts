import { describe, expect, it, test } from "vitest";
import { defineGated, gatedContract } from "../../../../test-support/environments/gated.js";
import { startScriptedServer } from "../../../../test-support/other-servers/scripted-server.js";
import { startGateway } from "../../../../test-support/proxies/gateway.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import type { EnvClient } from "./env-client.js";
import type { ConnectOptions } from "./options.js";
import { connectVector } from "./vector/connect-vector.js";

const servers = useServers();
type Client = EnvClient<typeof gatedContract>;
type Gated = ReturnType<typeof defineGated>;

const CANCELLED = { code: "CANCELLED", fault: "client", outcome: "env_error" };

async function open(gated: Gated, place: "in process" | "on a server", options: ConnectOptions): Promise<Client> {
  if (place === "in process") return connect(gated.environment, options);
  const server = await servers.start({}, gated);
  return connect(server.url, gatedContract, options);
}

/** Makes a call, waits until its code runs, and cancels it. */
async function cancel<T>({ log }: Gated, call: (signal: AbortSignal) => Promise<T>): Promise<unknown> {
  const controller = new AbortController();
  const { begun } = log;
  const answer = call(controller.signal).catch((error: unknown) => error);
  await waitFor(() => log.begun > begun);
  controller.abort();
  return answer;
}

describe.each([
  ["in process", "in process", {}],
  ["on a socket", "on a server", {}],
  ["on a socket with binary frames", "on a server", { binary: true }],
  ["of a resumable session", "on a server", { resume: true }],
] as const)("a cancelled call %s", (_what, place, options) => {
  it("is answered at once, its result is discarded, and the next call waits for its code", async () => {
    const gated = defineGated();
    await using env = await open(gated, place, options);
    await env.reset();
    expect(await cancel(gated, (signal) => env.step({ add: 1, waits: true }, { signal }))).toMatchObject(CANCELLED);
    expect(gated.log).toEqual({ begun: 1, ended: 0, aborted: 1 });
    const next = env.step({ add: 10 });
    expect(await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 30, "waits"))])).toBe("waits");
    gated.open();
    expect((await next).observation).toEqual({ count: 11 });
    expect(await env.state()).toMatchObject({ step_count: 1 });
    expect(env.sessionLost).toBe(false);
  });

  it("can be a reset, after which there is no episode", async () => {
    const gated = defineGated();
    await using env = await open(gated, place, options);
    await env.reset();
    expect(await cancel(gated, (signal) => env.reset({ waits: true }, { signal }))).toMatchObject(CANCELLED);
    gated.open();
    await expect(env.step({ add: 1 })).rejects.toMatchObject({ code: "NO_EPISODE" });
    await env.reset();
    expect((await env.step({ add: 1 })).observation).toEqual({ count: 1 });
  });

  it("can be a tool call, for whose handler the next call waits longer than after a time limit", async () => {
    const gated = defineGated();
    await using env = await open(gated, place, options);
    await env.reset();
    const answer = await cancel(gated, (signal) => env.tools.wait({}, { signal }));
    expect(answer).toMatchObject(CANCELLED);
    const next = env.step({ add: 10 });
    gated.open();
    expect((await next).observation).toEqual({ count: 110 });
  });

  it("is not one that was answered before", async () => {
    const gated = defineGated();
    await using env = await open(gated, place, options);
    await env.reset();
    const controller = new AbortController();
    const { signal } = controller;
    expect((await env.step({ add: 1 }, { signal })).observation).toEqual({ count: 1 });
    controller.abort();
    await expect(env.step({ add: 1 }, { signal })).rejects.toMatchObject({ code: "ABORTED" });
    expect((await env.step({ add: 1 })).observation).toEqual({ count: 2 });
    expect(gated.log.aborted).toBe(0);
  });
});

describe.each(["in process", "on a server"] as const)("a fork after a cancelled step %s", (place) => {
  const fork = async (tier: "snapshot" | "replay") => {
    const gated = defineGated(tier);
    const env = await open(gated, place, { resume: true });
    await env.reset();
    await cancel(gated, (signal) => env.step({ add: 1, waits: true }, { signal }));
    const forking = env.fork(1);
    expect(await Promise.race([forking, new Promise((resolve) => setTimeout(resolve, 30, "waits"))])).toBe("waits");
    gated.open();
    return { env, forking };
  };

  it("has the state at the end of the code", async () => {
    const { env, forking } = await fork("snapshot");
    const [copy] = await forking;
    expect((await copy?.step({ add: 10 }))?.observation).toEqual({ count: 11 });
    await copy?.close();
    await env.close();
  });

  it("is refused until the next reset where a fork is a replay", async () => {
    const { env, forking } = await fork("replay");
    const refusal = { code: "NOT_RESTORABLE", message: /event 2 was cancelled while it ran/ };
    await expect(forking).rejects.toMatchObject({ ...refusal, message: expect.stringMatching(refusal.message) });
    await env.step({ add: 1 });
    await expect(env.fork(1)).rejects.toMatchObject({ code: "NOT_RESTORABLE" });
    await env.reset();
    const [copy] = await env.fork(1);
    expect((await copy?.step({ add: 3 }))?.observation).toEqual({ count: 3 });
    await copy?.close();
    await env.close();
  });
});

test("a call is cancelled for each session of a batch whose code still runs", async () => {
  const gated = defineGated();
  const server = await servers.start({}, gated);
  await using envs = await connectVector(server.url, gatedContract, { size: 3 });
  await envs.reset();
  const results = await cancel(gated, (signal) =>
    envs.step([{ add: 1 }, { add: 2, waits: true }, { add: 3 }], { signal }),
  );
  expect(results).toMatchObject([
    { outcome: "ok", observation: { count: 1 } },
    { outcome: "env_error", error: CANCELLED },
    { outcome: "ok", observation: { count: 3 } },
  ]);
  gated.open();
  const next = await envs.step([{ add: 10 }, { add: 10 }, { add: 10 }]);
  expect(next.map((result) => result?.observation)).toEqual([{ count: 11 }, { count: 12 }, { count: 13 }]);
});

test("a cancelled step whose connection is cut before the answer gets CANCELLED on the next one, and never runs", async () => {
  const gated = defineGated();
  const server = await servers.start({}, gated);
  await using gateway = await startGateway(server, "passes");
  await using env = await connect(gateway.url, gatedContract, { resume: true });
  await env.reset();
  gateway.cutAtAnswer();
  expect(await cancel(gated, (signal) => env.step({ add: 1, waits: true }, { signal }))).toMatchObject(CANCELLED);
  expect(gateway.connections).toBeGreaterThan(2);
  gated.open();
  expect((await env.step({ add: 10 })).observation).toEqual({ count: 11 });
  expect(gated.log.begun).toBe(1);
});

test("a step that is cancelled while its connection is lost is cancelled on the next one", async () => {
  const gated = defineGated();
  const server = await servers.start({}, gated);
  await using gateway = await startGateway(server, "passes");
  await using env = await connect(gateway.url, gatedContract, { resume: true });
  await env.reset();
  const controller = new AbortController();
  const step = env.step({ add: 1, waits: true }, { signal: controller.signal }).catch((error: unknown) => error);
  await waitFor(() => gated.log.begun === 1);
  gateway.turn("refuses");
  gateway.cut();
  controller.abort();
  gateway.turn("passes");
  expect(await step).toMatchObject(CANCELLED);
  gated.open();
  expect((await env.step({ add: 10 })).observation).toEqual({ count: 11 });
  expect(gated.log).toEqual({ begun: 1, ended: 1, aborted: 1 });
});

test("the answers to old requests and to other sockets stay as they are", async () => {
  const gated = defineGated();
  const server = await servers.start({}, gated);
  const stock = await servers.open(server);
  expect(await stock.ask({ type: "cancel" })).toMatchObject({ type: "error", data: { code: "UNKNOWN_TYPE" } });
  const socket = await servers.open(server, "/ws?openenv=cancel");
  // Without a request that waits it has no effect and no answer.
  socket.send({ type: "cancel" });
  expect(await socket.ask({ type: "reset" })).toMatchObject({ openenv: { extensions: ["cancel"] } });
  expect(await socket.ask({ type: "cancel", data: { seq: "1" } })).toMatchObject({ data: { code: "UNKNOWN_TYPE" } });
  socket.send(
    { type: "step", data: { add: 1, waits: true } },
    { type: "cancel", data: { seq: 7 } },
    { type: "cancel" },
  );
  expect(await socket.receive()).toMatchObject({ type: "error", data: { code: "CANCELLED", fault: "client" } });
  gated.open();
  expect(await socket.ask({ type: "step", data: { add: 1 } })).toMatchObject({ data: { observation: { count: 2 } } });
  const address = await servers.open(server, "/session/run-7_worker-3_5f1c9a/ws?openenv=cancel");
  expect(await address.ask({ type: "cancel" })).toMatchObject({ data: { code: "UNKNOWN_TYPE" } });
});

test("a request that waits for its turn is cancelled when it begins", async () => {
  const gated = defineGated();
  const server = await servers.start({}, gated);
  const socket = await servers.open(server, "/ws?openenv=cancel");
  // It arrives before the session is open.
  socket.send({ type: "reset", data: { waits: true } }, { type: "cancel" });
  expect(await socket.receive()).toMatchObject({ type: "error", data: { code: "CANCELLED" } });
  gated.open();
  expect(await socket.ask({ type: "reset" })).toMatchObject({ data: { observation: { count: 0 } } });
});

test("a server that cannot cancel loses the session", async () => {
  await using server = await startScriptedServer(async (peer) => {
    await peer.answer();
    await peer.receive();
  });
  await using env = await connect(server.url);
  await env.reset();
  const controller = new AbortController();
  const step = env.step({}, { signal: controller.signal });
  setTimeout(() => controller.abort("no time"), 10);
  const message = expect.stringContaining("the server has not confirmed that it can cancel calls");
  await expect(step).rejects.toMatchObject({ code: "ABORTED", outcome: "lost", cause: "no time", message });
  await expect(env.step({})).rejects.toMatchObject({ code: "SESSION_LOST" });
});
