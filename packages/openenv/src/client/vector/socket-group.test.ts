import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { counterContract, defineCounter } from "../../../../../test-support/environments/counter.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { startScriptedServer } from "../../../../../test-support/other-servers/scripted-server.js";
import { startGateway } from "../../../../../test-support/proxies/gateway.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import type { ServerView } from "../../protocol/web.js";
import { serve } from "../../serve.js";
import { connect, connectVector, type FailedResult, type StepResult } from "../index.js";

const { start } = useServers();

type Result = StepResult<{ count: number }> | FailedResult | null;
const outcomes = (results: Result[]) => results.map((result) => result?.outcome ?? null);
const counts = (results: Result[]) => results.map((result) => result?.observation?.count ?? null);
const codes = (results: Result[]) => results.map((result) => (result && "error" in result ? result.error.code : null));

describe("sessions of one server", () => {
  test.each([
    [true, ["websocket", "websocket"]],
    [false, ["batch", "batch"]],
  ])(
    "use plain frames on own sockets, so that a journal can restore them (own sockets: %s)",
    async (ownSockets, kinds) => {
      const server = await start(WITH_OPERATOR);
      await using envs = await connectVector(server.url, counterContract, { size: 2, ownSockets });
      await envs.reset();
      const view = (await (await fetchAsOperator(`${server.url}/web/server`)).json()) as ServerView;
      expect(view.sessions.map(({ client }) => client)).toEqual(kinds);
    },
  );

  test("play many episodes over one socket, typed by the contract", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 4 });
    expect(counts(await envs.reset({ seed: 7, start: 5 }))).toEqual([5, 5, 5, 5]);
    expect(server.capacity().active_sessions).toBe(4);
    expect(counts(await envs.reset([{ start: 1 }, null, { start: 3 }, {}]))).toEqual([1, null, 3, 0]);
    const results = await envs.step([{ amount: 1 }, { amount: 9 }, null, { amount: 2 }]);
    expect(counts(results)).toEqual([2, 14, null, 2]);
    expect(outcomes(results)).toEqual(["ok", "terminated", null, "ok"]);
    expect(await envs.state()).toMatchObject([
      { step_count: 1 },
      { step_count: 1, total: 9 },
      { step_count: 0 },
      { step_count: 1 },
    ]);
    await envs.close();
    await envs.close();
    await waitFor(() => server.capacity().active_sessions === 0);
    expect(codes(await envs.step([{ amount: 1 }, null, null, null]))).toEqual(["CLIENT_CLOSED", null, null, null]);
  });

  test.each([false, true])("fail alone when an item fails (binary frames: %s)", async (binary) => {
    const server = await start();
    await using envs = await connectVector(server.url, { size: 6, binary, check: false });
    await envs.reset();
    const results = await envs.step([
      { amount: 1 },
      { amount: 13 },
      { amount: "x" },
      { amount: 1, note: "half \ud800" },
      { amount: 70 },
      { amount: 2 },
    ]);
    expect(codes(results as Result[])).toEqual([
      null,
      "EXECUTION_ERROR",
      "VALIDATION_ERROR",
      "VALIDATION_ERROR",
      "EXECUTION_ERROR",
      null,
    ]);
    await expect(envs.step([{ amount: 1 }])).rejects.toThrow("Expected 6 values, one for each session, got 1");
    const typed = await connectVector(server.url, counterContract, { size: 2, binary });
    await typed.reset();
    expect(codes(await typed.step([{ amount: 1000 }, { amount: 1 }]))).toEqual(["VALIDATION_ERROR", null]);
    await typed.close();
  });

  test("are rejected one by one, and the next reset tries again", async () => {
    const server = await start({ maxConcurrentEnvs: 3 });
    const other = await connect(server.url);
    await other.reset();
    await using envs = await connectVector(server.url, counterContract, { size: 3 });
    expect(codes(await envs.reset())).toEqual([null, null, "CAPACITY_REACHED"]);
    expect(codes(await envs.step([{ amount: 1 }, { amount: 1 }, { amount: 1 }]))).toEqual([
      null,
      null,
      "CAPACITY_REACHED",
    ]);
    await other.close();
    await waitFor(() => server.capacity().active_sessions === 2);
    expect(counts(await envs.reset([null, null, { start: 4 }]))).toEqual([null, null, 4]);
    expect(counts(await envs.step([{ amount: 1 }, { amount: 1 }, { amount: 1 }]))).toEqual([2, 2, 5]);
  });

  test("are all lost with their socket, each until its own reset", async () => {
    const counter = defineCounter({ stepBeforeReset: "allow" });
    const first = await serve(counter.environment, { port: 0, logLevel: "silent", graceMs: 50 });
    await using gateway = await startGateway(first, "passes");
    await using envs = await connectVector(gateway.url, counterContract, { size: 3 });
    await envs.reset({ start: 1 });
    gateway.turn("refuses");
    await first.close();
    const step = () => envs.step([{ amount: 1 }, { amount: 1 }, { amount: 1 }]);
    expect(outcomes(await step())).toEqual(["lost", "lost", "lost"]);
    expect(outcomes(await envs.reset())).toEqual(["lost", "lost", "lost"]);
    await using second = await serve(counter.environment, { port: 0, logLevel: "silent", graceMs: 50 });
    gateway.turn("passes", second);
    expect(outcomes(await step())).toEqual(["lost", "lost", "lost"]);
    // Only these two start a new episode. The episode of the third is lost, and no result may be invented for it.
    expect(counts(await envs.reset([{ start: 5 }, null, { start: 7 }]))).toEqual([5, null, 7]);
    const results = await step();
    expect(counts(results)).toEqual([6, null, 8]);
    expect(codes(results)).toEqual([null, "SESSION_LOST", null]);
    expect(counts(await envs.reset([null, {}, null]))).toEqual([null, 0, null]);
    expect(outcomes(await step())).toEqual(["ok", "ok", "ok"]);
  });

  test("are all lost by a timeout, and open again with a reset", async () => {
    const server = await start();
    await using envs = await connectVector(server.url, counterContract, { size: 2 });
    await envs.reset();
    const late = await envs.step([{ amount: 60 }, { amount: 1 }], { timeoutMs: 50 });
    expect(codes(late)).toEqual(["CLIENT_TIMEOUT", "CLIENT_TIMEOUT"]);
    expect(codes(await envs.step([{ amount: 1 }, { amount: 1 }]))).toEqual(["SESSION_LOST", "SESSION_LOST"]);
    expect(counts(await envs.reset())).toEqual([0, 0]);
    await waitFor(() => server.capacity().active_sessions === 2);
  });

  test("are lost one at a time when the server ends one, and open again on the same socket", async () => {
    let ended = false;
    await using server = await startScriptedServer(async (peer) => {
      let sessions = 0;
      for (;;) {
        const { type, data } = (await peer.receive()) as { type: string; data: { items: unknown[]; count: number } };
        const observation = { type: "observation", data: { observation: { count: 1 }, reward: 1, done: false } };
        const gone = { type: "error", data: { code: "SESSION_ERROR", message: "No session 1 is open." } };
        if (type === "open_many") {
          const items = Array.from({ length: data.count }, () => ({ type: "opened", data: { session: sessions++ } }));
          peer.send({ type: "many", data: { items }, openenv: { extensions: ["batch"] } });
        } else
          peer.send({
            type: "many",
            data: { items: data.items.map((_, nth) => (ended && nth === 1 ? gone : observation)) },
          });
        ended = type === "reset_many" && data.items.length === 2;
      }
    });
    await using envs = await connectVector(server.url, { size: 2, check: false });
    await envs.reset();
    const step = async () => outcomes((await envs.step([{}, {}])) as Result[]);
    expect(await step()).toEqual(["ok", "lost"]);
    expect(await step()).toEqual(["ok", "lost"]);
    expect(outcomes((await envs.reset([null, {}])) as Result[])).toEqual([null, "ok"]);
    expect(await step()).toEqual(["ok", "ok"]);
    expect(server.opened).toBe(1);
  });

  test("are opened and called in several frames if one frame cannot hold them", async () => {
    const server = await start({ maxConcurrentEnvs: 3_000 });
    const size = 2_500;
    await using envs = await connectVector(server.url, counterContract, { size });
    expect(counts(await envs.reset(Array.from({ length: size }, (_, start) => ({ start }))))).toEqual([
      ...Array(size).keys(),
    ]);
    const results = await envs.step(Array(size).fill({ amount: 1 }));
    expect(counts(results)).toEqual(Array.from({ length: size }, (_, index) => index + 1));
    expect(server.capacity().active_sessions).toBe(size);
  });

  test("have a socket each on a server without batch frames, with the same answers", async () => {
    const sockets: string[] = [];
    await using server = await startScriptedServer(async (peer) => {
      const seen: string[] = [];
      sockets.push(peer.request.url ?? "");
      let count = 0;
      for (;;) {
        const { type, data } = (await peer.receive()) as { type: string; data: { amount?: number } };
        seen.push(type);
        count += data?.amount ?? 0;
        if (type === "open_many")
          peer.send({ type: "error", data: { code: "UNKNOWN_TYPE", message: "Unknown message type" } });
        else if (type === "state") peer.send({ type: "state", data: { episode_id: null, step_count: 1 } });
        else if (count === 13) peer.socket.terminate();
        else peer.send({ type: "observation", data: { observation: { count }, reward: 1, done: false } });
      }
    });
    await using envs = await connectVector(server.url, { size: 3, check: false });
    expect(counts((await envs.reset()) as Result[])).toEqual([0, 0, 0]);
    expect(server.opened).toBe(3);
    expect(counts((await envs.step([{ amount: 1 }, null, { amount: 3 }])) as Result[])).toEqual([1, null, 3]);
    expect(await envs.state()).toMatchObject([{ step_count: 1 }, { step_count: 1 }, { step_count: 1 }]);
    expect(outcomes((await envs.step([{ amount: 1 }, { amount: 13 }, { amount: 1 }])) as Result[])).toEqual([
      "ok",
      "lost",
      "ok",
    ]);
    expect(outcomes((await envs.step([null, { amount: 1 }, null])) as Result[])).toEqual([null, "lost", null]);
    expect(counts((await envs.reset([null, {}, null])) as Result[])).toEqual([null, 0, null]);
    expect(server.opened).toBe(4);
    expect(sockets.filter((url) => url.includes("batch"))).toHaveLength(1);
  });

  test("open a limited number of such sockets at a time, and leave none open after an abort", async () => {
    const sockets = new WebSocketServer({ noServer: true });
    sockets.on("connection", (socket) => {
      const refusal = { type: "error", data: { code: "UNKNOWN_TYPE", message: "Unknown message type" } };
      socket.on("message", () => socket.send(JSON.stringify(refusal)));
    });
    const there = new Set<Duplex>();
    let [opened, opening, most, takes] = [0, 0, 0, 100];
    const http = createServer().on("upgrade", (request, socket, head) => {
      there.add(socket);
      socket.on("close", () => there.delete(socket)).on("error", () => {});
      most = Math.max(most, ++opening);
      if (++opened > takes) return socket.resume().on("end", () => socket.destroy());
      const take = (): void => {
        opening--;
        sockets.handleUpgrade(request, socket, head, (peer) => sockets.emit("connection", peer, request));
      };
      setTimeout(take, 100);
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
      const envs = await connectVector(url, { size: 100, check: false });
      await envs.reset();
      expect(opened).toBe(100);
      expect(most).toBeLessThanOrEqual(64);
      await envs.close();
      await waitFor(() => there.size === 0);
      takes = opened + 10;
      const aborting = new AbortController();
      await using aborted = await connectVector(url, { size: 100, check: false });
      const resetting = aborted.reset({}, { signal: aborting.signal });
      await waitFor(() => there.size > 20);
      aborting.abort();
      expect(codes((await resetting) as Result[])).toEqual(Array(100).fill("ABORTED"));
      await waitFor(() => there.size === 0);
    } finally {
      for (const socket of there) socket.destroy();
      await new Promise((resolve) => http.close(resolve));
    }
  });
});
