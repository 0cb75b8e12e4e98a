import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Upgrade } from "#parts/sockets";
import { createContext } from "../../../../../test-support/environments/context.js";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { createNodeServer } from "../../../../sockets/src/runtimes/node.js";
import { defineContract } from "../../contract/contract.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import { createRuntime } from "../../session/runtime.js";
import { SocketServer } from "./socket-server.js";

const { start, open } = useServers();

const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });

describe("an episode on /ws", () => {
  test("can be reset, stepped, queried for its state and closed with 1000", async () => {
    const socket = await open(await start());
    expect(await socket.ask({ type: "reset", data: { episode_id: "e", start: 2 } })).toEqual({
      type: "observation",
      data: { observation: { metadata: {}, count: 2 }, reward: null, done: false },
    });
    expect(await socket.ask(step(8))).toMatchObject({ data: { observation: { count: 10 }, reward: 8, done: true } });
    expect(await socket.ask({ type: "state" })).toEqual({
      type: "state",
      data: { episode_id: "e", step_count: 1, total: 8 },
    });
    socket.send({ type: "close" });
    expect(await socket.closed).toEqual({ code: 1000, reason: "" });
  });

  test("gets an id from the server when the client gives none", async () => {
    const socket = await open(await start());
    await socket.ask(RESET);
    expect(await socket.ask({ type: "state" })).toMatchObject({
      data: { episode_id: expect.stringMatching(/^[\w-]{36}$/) },
    });
  });

  test("answers pipelined frames in order, also when one of them waits", async () => {
    const socket = await open(await start());
    socket.send(RESET, step(50), step(1), "{oops", { type: "state" }, step(2));
    const types = [];
    for (let i = 0; i < 6; i++) types.push((await socket.receive())["type"]);
    expect(types).toEqual(["observation", "observation", "observation", "error", "state", "observation"]);
  });

  test("answers every pipelined frame before a close takes effect", async () => {
    const socket = await open(await start());
    socket.send(RESET, step(50), { type: "close" });
    await socket.receive();
    expect(await socket.receive()).toMatchObject({ data: { observation: { count: 50 } } });
    expect((await socket.closed).code).toBe(1000);
  });

  test("must start with a reset, unless the environment allows a step before it", async () => {
    const strict = await open(await start());
    expect(await strict.ask(step(1))).toMatchObject({
      type: "error",
      data: {
        code: "EXECUTION_ERROR",
        openenv_code: "NO_EPISODE",
        message: expect.stringContaining("call reset first"),
      },
    });
    expect(await strict.ask(RESET)).toMatchObject({ type: "observation" });
    const lax = await open(await start({}, defineCounter({ stepBeforeReset: "allow" })));
    expect(await lax.ask(step(1))).toMatchObject({ type: "observation" });
  });
});

describe("what an environment must not do", () => {
  test.each([
    ["throws in step", 13, /unlucky amount/],
    ["returns what its contract forbids", 70, /extra/],
  ])("%s: EXECUTION_ERROR, and the session continues", async (_what, amount, message) => {
    const socket = await open(await start());
    await socket.ask(RESET);
    const answer = await socket.ask(step(amount));
    expect(answer).toMatchObject({
      type: "error",
      data: { code: "EXECUTION_ERROR", message: expect.stringMatching(message) },
    });
    expect(await socket.ask(step(1))).toMatchObject({ type: "observation" });
  });

  test("production reports only messages that the author intended for clients", async () => {
    const socket = await open(await start({ mode: "production" }));
    await socket.ask(RESET);
    expect(await socket.ask(step(13))).toMatchObject({
      data: { code: "EXECUTION_ERROR", message: expect.not.stringContaining("unlucky") },
    });
  });
});

describe("extensions", () => {
  test("are confirmed in the first answer and report timings", async () => {
    const socket = await open(await start(), "/ws?openenv=timing,warnings,unheard-of");
    expect(await socket.ask(RESET)).toMatchObject({ openenv: { extensions: ["warnings", "timing"] } });
    const answer = await socket.ask(step(1));
    expect(answer).not.toHaveProperty("openenv");
    expect(answer).toMatchObject({
      data: {
        metadata: {
          openenv: { session: expect.any(String), step: 1, env_ms: expect.any(Number), queue_ms: expect.any(Number) },
        },
      },
    });
  });

  test("name a reset option that was dropped; a stock client receives nothing", async () => {
    const server = await start();
    const reset = { type: "reset", data: { nope: 1 } };
    const stock = await open(server);
    expect(await stock.ask(reset)).toMatchObject({ data: { observation: { metadata: {} } } });
    const ours = await open(server, "/ws?openenv=warnings");
    expect(await ours.ask(reset)).toMatchObject({
      data: { metadata: { openenv: { warnings: [expect.stringContaining('"nope"')] } } },
    });
  });

  test("name NaN and infinities that were sent as null, also of the reward; the step counts", async () => {
    const contract = defineContract({
      name: "nan_env",
      action: z.object({}),
      observation: z.object({ x: z.number() }),
    });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: { x: 0 } }),
      step: () => ({ observation: { x: Infinity }, reward: NaN }),
    }));
    const server = await start({}, { environment });
    const stock = await open(server);
    await stock.ask(RESET);
    const { data } = await stock.ask({ type: "step", data: {} });
    expect(data).toEqual({ observation: { x: null, metadata: {} }, reward: null, done: false });
    const ours = await open(server, "/ws?openenv=warnings");
    await ours.ask(RESET);
    expect(await ours.ask({ type: "step", data: {} })).toMatchObject({
      data: {
        reward: null,
        metadata: {
          openenv: {
            reward: "NaN",
            warnings: [
              "the reward is NaN and was sent as null",
              "1 NaN or infinite values of the result were sent as null",
            ],
          },
        },
      },
    });
  });

  test("name twenty dropped reset options, list the declared ones once, and count the others", async () => {
    const socket = await open(await start(), "/ws?openenv=warnings");
    const keys = ["x".repeat(500), "\ud800", ...Array.from({ length: 30 }, (_, i) => `k${i}`)];
    const reset = { type: "reset", data: Object.fromEntries(keys.map((key) => [key, 1])) };
    const { data } = (await socket.ask(reset)) as { data: { metadata: { openenv: { warnings: string[] } } } };
    const { warnings } = data.metadata.openenv;
    expect(warnings).toHaveLength(21);
    expect(warnings[0]).toMatch(/^reset option "x{100}" is not declared and was dropped \(declared: .*\)$/);
    expect(warnings[1]).toBe('reset option "\ufffd" is not declared and was dropped');
    expect(warnings[20]).toBe("12 more reset options are not declared and were dropped");
  });
});

describe("foreign pages", () => {
  test.each<[string, Record<string, string>]>([
    ["an origin that is not allowed", { origin: "https://example.org" }],
    ["a Host that is not a name of this machine", { host: "rebound.example.org" }],
  ])("%s is rejected before the upgrade", async (_what, headers) => {
    const server = await start();
    await expect(openTestSocket(`${server.url}/ws`, { headers })).rejects.toThrow(/403/);
  });

  test("on an address for every interface a page must use a name of the server, other clients need not", async () => {
    const server = await start({ host: "0.0.0.0", allowedHosts: ["env.example.org"] });
    for (const path of ["/ws", "/mcp", "/ws/ui"]) {
      const headers = { host: "evil.test:8000", origin: "http://evil.test:8000" };
      await expect(openTestSocket(server.url + path, { headers })).rejects.toThrow(/403/);
    }
    for (const headers of [
      { host: "env.example.org", origin: "http://env.example.org" },
      { origin: server.url },
      { host: "servers.default.svc:8000" },
    ]) {
      expect(await (await open(server, "/ws", headers)).ask(RESET)).toMatchObject({ type: "observation" });
    }
  });

  test("an allowed origin and the server's own origin are accepted", async () => {
    const server = await start({ allowedOrigins: ["https://example.org"] });
    for (const origin of ["https://example.org", server.url]) {
      expect(await (await open(server, "/ws", { origin })).ask(RESET)).toMatchObject({ type: "observation" });
    }
  });
});

test("a server that is shutting down rejects a forwarded upgrade with 503", async () => {
  const context = await createContext(createRuntime(defineCounter().environment), { closing: true });
  const sockets = new SocketServer(context);
  const parts = { context, handle: async () => {}, upgrade: (upgrade: Upgrade) => sockets.acceptForwarded(upgrade) };
  const server = createNodeServer(parts).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ws`;
  await expect(openTestSocket(url)).rejects.toThrow(/503/);
  sockets.close();
  server.close();
});
