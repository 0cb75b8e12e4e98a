import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import * as z from "zod";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { type ScriptedPeer, startScriptedServer } from "../../../test-support/other-servers/scripted-server.js";
import { openConnection } from "./client/transport/connection.js";
import { connect } from "./connect.js";
import type { ConnectionError, RemoteError } from "./errors.js";
import { defineContract, defineEnvironment } from "./index.js";
import { serve } from "./serve.js";

const silent = (): void => {};

/** Answers every frame with the headers and URL of the handshake. */
const tellRequest = async (peer: ScriptedPeer): Promise<void> => {
  const { url, headers } = peer.request;
  for (;;) await peer.answer({ metadata: { url, authorization: headers.authorization, team: headers["x-team"] } });
};

const values = defineContract({ name: "values_env", action: z.object({}), observation: z.object({ seed: z.int() }) });

it.each([0, 7])("the environment receives the seed %i, and its reward of 0 arrives as 0", async (seed) => {
  const environment = defineEnvironment(values, () => ({
    reset: ({ seed = -1 }) => ({ observation: { seed }, reward: 0 }),
    step: () => ({ observation: { seed: -1 }, reward: 0 }),
  }));
  await using server = await serve(environment, { port: 0, logLevel: "silent" });
  await using env = await connect(server.url, values);
  expect(await env.reset({ seed })).toMatchObject({ observation: { seed }, reward: 0 });
  expect((await env.step({})).reward).toBe(0);
});

describe("connect", () => {
  it("requests extensions with a query key and keeps the caller's query and prefix", async () => {
    await using server = await startScriptedServer(tellRequest);
    await using plain = await connect(`${server.url}/a/b/?key=1`);
    expect((await plain.reset()).metadata["url"]).toBe("/a/b/ws?key=1&openenv=warnings%2Cmove%2Ccancel");
    await using timed = await connect(server.url, { timing: true });
    expect((await timed.reset()).metadata["url"]).toBe("/ws?openenv=warnings%2Cmove%2Ccancel%2Ctiming");
  });

  it("sends headers and token with the handshake", async () => {
    await using server = await startScriptedServer(tellRequest);
    await using env = await connect(server.url, { token: "t0", headers: { "x-team": "red" } });
    expect((await env.reset()).metadata).toMatchObject({ authorization: "Bearer t0", team: "red" });
  });

  it("rejects headers where the WebSocket of the platform cannot send them", async () => {
    vi.stubGlobal("Deno", {});
    try {
      const refused = connect("http://127.0.0.1:9", { check: false, headers: { "x-team": "red" } });
      await expect(refused).rejects.toThrow(/cannot send headers.*use `token`/);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("sends the token as a subprotocol where the WebSocket of the platform cannot send headers", async () => {
    await using server = await serve(defineCounter().environment, { port: 0, logLevel: "silent", clientToken: "t0 µ" });
    vi.stubGlobal("Deno", {});
    vi.stubGlobal("WebSocket", WebSocket);
    try {
      await using env = await connect(server.url, { check: false, token: "t0 µ" });
      expect((await env.reset()).done).toBe(false);
      await expect(connect(server.url, { check: false, token: "t1" })).rejects.toMatchObject({
        code: "CONNECTION_FAILED",
      });
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("offers no subprotocol and no compression, because a Python server rejects one and slows down with the other", async () => {
    await using server = await startScriptedServer(async (peer) => {
      const { headers } = peer.request;
      const offered = ["sec-websocket-protocol", "sec-websocket-extensions"].filter((name) => name in headers);
      await peer.answer({ metadata: { offered } });
    });
    await using env = await connect(server.url);
    expect((await env.reset()).metadata).toEqual({ offered: [] });
  });

  it("names the address when no server listens", async () => {
    const gone = { url: `127.0.0.1:${await findFreePort()}` };
    const error = (await connect(gone.url, { check: false }).catch((cause: unknown) => cause)) as Error;
    expect(error).toMatchObject({ code: "CONNECTION_FAILED", outcome: "lost" });
    const said = (path: string) =>
      new RegExp(`^Could not reach ${path}: .*ECONNREFUSED.*\\. Is the server running\\?$`);
    expect(error.message).toMatch(said(`ws://${gone.url}/ws`));
    await expect(connect(gone.url)).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: expect.stringMatching(said(`http://${gone.url}/schema`)),
    });
  });

  it("reports the error page of a balancer in one line, without its tags", async () => {
    const page =
      "<html><style>p { color: red }</style>\n<body>\n<h1>503</h1>\n <p>No server is\navailable</p></body></html>";
    const balancer = createHttpServer((_, response) => response.writeHead(503).end(page));
    await new Promise<void>((resolve) => balancer.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;
    try {
      await expect(connect(url)).rejects.toMatchObject({
        code: "REQUEST_FAILED",
        message: `${url}/schema answered 503: 503 No server is available`,
      });
      await expect(connect(url, { check: false })).rejects.toThrow("expected a WebSocket, got HTTP status 503");
    } finally {
      balancer.close();
    }
  });

  it("times out when a server never answers the handshake", async () => {
    await using deaf = await listenDeaf();
    const options = { check: false, connectTimeoutMs: 30 };
    await expect(connect(deaf.url, options)).rejects.toThrow(/^Could not reach ws:.*: no answer within 30 ms/);
    await expect(connect(deaf.url, { ...options, check: true })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
  });

  it("is aborted by its signal", async () => {
    await using deaf = await listenDeaf();
    const controller = new AbortController();
    const { signal } = controller;
    const opening = [true, false].map((check) => connect(deaf.url, { check, signal }).catch((cause: unknown) => cause));
    setTimeout(() => controller.abort(), 10);
    expect(await Promise.all(opening)).toMatchObject([{ code: "ABORTED" }, { code: "ABORTED" }]);
    const hasty = new AbortController();
    const atOnce = openConnection(`ws://${deaf.url}/ws`, { headers: {}, timeoutMs: 60_000, signal: hasty.signal });
    hasty.abort();
    await expect(atOnce).rejects.toMatchObject({ code: "ABORTED" });
    await expect(connect(deaf.url, { signal })).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("rejects a target that is neither a URL nor an environment, and says what it accepts", async () => {
    // @ts-expect-error: a factory is not a definition
    await expect(connect(() => ({}))).rejects.toThrow(/URL|defineEnvironment/);
  });
});

describe("extensions", () => {
  const answers = (openenv: object) => async (peer: ScriptedPeer) => {
    await peer.receive();
    const metadata = { note: 1, openenv: { warnings: ['reset option "foo" is not declared'] } };
    const data = { observation: { metadata, count: 1 }, reward: 0, done: false, metadata };
    peer.send({ type: "observation", data, ...openenv });
    await peer.receive();
    peer.send({ type: "observation", data });
  };

  it("confirmed by the server add its warnings to the results", async () => {
    await using server = await startScriptedServer(answers({ openenv: { extensions: ["warnings"] } }));
    await using env = await connect(server.url);
    const warnings = ['reset option "foo" is not declared'];
    expect(await env.reset({ foo: 1 })).toMatchObject({ observation: { count: 1 }, warnings });
    expect((await env.step({})).warnings).toEqual(warnings);
  });

  it("not confirmed by the server leave the metadata unchanged", async () => {
    await using server = await startScriptedServer(answers({}));
    await using env = await connect(server.url);
    const result = await env.reset();
    expect(result.warnings).toEqual([]);
    expect(result.metadata).toMatchObject({ note: 1 });
  });
});

describe("outcomes", () => {
  it("distinguish terminated, truncated, failed and lost", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.answer();
      await peer.answer({ done: true });
      await peer.answer({ done: true, metadata: { truncated: true } });
      await peer.receive();
      peer.send({ type: "error", data: { message: "boom", code: "EXECUTION_ERROR" } });
      await peer.receive();
      peer.send({ type: "error", data: { message: "gone", code: "ISOLATE_LOST" } });
      await peer.receive();
      peer.socket.terminate();
    });
    await using env = await connect(server.url);
    expect((await env.tryReset()).outcome).toBe("ok");
    expect((await env.tryStep({})).outcome).toBe("terminated");
    expect((await env.tryStep({})).outcome).toBe("truncated");
    const failed = await env.tryStep({});
    expect(failed).toMatchObject({ outcome: "env_error", reward: null, observation: null, done: null });
    expect(await env.tryStep({})).toMatchObject({ outcome: "env_error", done: true, error: { code: "ISOLATE_LOST" } });
    const lost = await env.tryStep({});
    expect(lost).toMatchObject({ outcome: "lost", reward: null, observation: null, done: true });
    if (lost.outcome !== "lost" || failed.outcome !== "env_error") throw new Error("unreachable");
    expect([failed.error.code, lost.error.code]).toEqual(["EXECUTION_ERROR", "SESSION_LOST"]);
  });

  it("keep rewards unchanged and accept answers of Python that lack fields", async () => {
    const rewards = [2, 2.5, true, false, null];
    await using server = await startScriptedServer(async (peer) => {
      for (const reward of rewards) await peer.answer({ reward });
      await peer.receive();
      peer.send('{"type":"observation","data":{"observation":{"ratio":NaN},"reward":1,"done":false}}');
    });
    await using env = await connect(server.url);
    for (const reward of rewards) expect((await env.step({})).reward).toBe(reward);
    expect(await env.step({})).toMatchObject({ observation: { ratio: Number.NaN }, metadata: {} });
  });
});

describe("state", () => {
  it("always has an episode id and a step count", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.receive();
      peer.send({ type: "state", data: { total: 3 } });
      await peer.receive();
      peer.send({ type: "state", data: { step_count: 2, episode_id: "e", total: 4 } });
      await peer.receive();
      peer.send({ type: "state", data: { step_count: "2" } });
    });
    await using env = await connect(server.url);
    expect(await env.state()).toEqual({ episode_id: null, step_count: 0, total: 3 });
    expect(await env.state()).toEqual({ episode_id: "e", step_count: 2, total: 4 });
    await expect(env.state()).rejects.toMatchObject({ code: "PROTOCOL_ERROR" });
  });
});

describe("the generic client", () => {
  const action = {
    type: "object",
    additionalProperties: false,
    properties: {
      amount: { type: "integer", minimum: 0 },
      at: { type: "string", format: "date-time" },
      path: { type: "array", items: { $ref: "#/$defs/Point" } },
    },
    $defs: { Point: { type: "object", properties: { x: { type: "integer" } }, required: ["x"] } },
    required: ["amount"],
  };

  it("rejects an action that does not fit the server's schema before sending it", async () => {
    await using server = await startScriptedServer(tellRequest, { "/schema": { action } });
    await using env = await connect(server.url);
    const error = (await env
      .step({ amount: 0.5, path: [{}], extra: 1 })
      .catch((cause: unknown) => cause)) as RemoteError;
    expect(error).toMatchObject({ code: "VALIDATION_ERROR", outcome: "env_error" });
    expect(error.errors.map(({ type, loc }) => [type, loc])).toEqual([
      ["additionalProperties", ["extra"]],
      ["type", ["amount"]],
      ["required", ["path", 0, "x"]],
    ]);
    expect((await env.step({ amount: 1, at: "2026-01-01T00:00:00Z", path: [{ x: 1 }] })).outcome).toBe("ok");
    expect(env.sessionLost).toBe(false);
  });

  it("leaves validation to the server when the schema is broken, missing or turned off", async () => {
    const broken = { "/schema": { action: { type: "object", properties: { a: { $ref: "#/$defs/Missing" } } } } };
    for (const [routes, check] of [
      [broken, true],
      [{}, true],
      [{ "/schema": { action } }, false],
    ] as const) {
      await using server = await startScriptedServer(tellRequest, routes);
      await using env = await connect(server.url, { check });
      expect((await env.step({ amount: "many" })).outcome).toBe("ok");
    }
  });
});

describe("metadata", () => {
  it("is read from the server, and an error includes the status", async () => {
    await using server = await startScriptedServer(silent, { "/metadata": { name: "counter" } });
    await using env = await connect(server.url);
    expect(await env.metadata()).toEqual({ name: "counter" });
    await using bare = await startScriptedServer(silent);
    await using other = await connect(bare.url);
    const error = (await other.metadata().catch((cause: unknown) => cause)) as ConnectionError;
    expect(error).toMatchObject({ code: "REQUEST_FAILED", details: { status: 404 } });
    expect(error.message).toBe(`${bare.url}/metadata answered 404: Not Found`);
  });
});

/** Accepts connections and never answers. */
async function listenDeaf(): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((socket) => socket.on("error", silent).resume());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
