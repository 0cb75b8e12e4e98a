import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { type ScriptedPeer, startScriptedServer } from "../../../../../test-support/other-servers/scripted-server.js";
import { serve } from "../../../../openenv/src/server/index.js";
import type { BurstJob, RequestRow } from "../types.js";
import { createGenerator } from "./generator.js";

const idle = (): void => {};
const job = (url: string, changes: Partial<BurstJob> = {}): BurstJob => ({
  url,
  address: "127.0.0.1",
  mode: "ws",
  action: { wait_seconds: 0 },
  requests: 3,
  timeoutMs: 20_000,
  ...changes,
});

async function typesOf(burst: BurstJob): Promise<Set<string | null>> {
  const { rows } = await createGenerator().burst(burst, idle);
  expect(rows).toHaveLength(burst.requests);
  return new Set(rows.map(({ error_type }) => error_type));
}

const never = new Promise<void>(() => {});
const error = (code: string) => ({ type: "error", data: { code, message: "no" } });

describe("a burst", () => {
  const failures: [string, (peer: ScriptedPeer) => Promise<void> | void][] = [
    ["CLOSED_4000", (peer) => peer.socket.close(4000, "gone")],
    ["CLOSED", (peer) => peer.receive().then(() => peer.socket.terminate())],
    [
      "CAPACITY_REACHED",
      (peer) => {
        peer.send(error("CAPACITY_REACHED"));
        peer.socket.close(1000);
      },
    ],
    ["EXECUTION_ERROR", (peer) => peer.answer().then(() => peer.send(error("EXECUTION_ERROR")))],
    ["PROTOCOL_ERROR", (peer) => peer.answer().then(() => peer.send("not JSON"))],
    ["PROTOCOL_ERROR", (peer) => peer.answer().then(() => peer.send({ type: "state", data: {} }))],
  ];
  it.each(failures)("counts %s and continues", async (type, script) => {
    await using server = await startScriptedServer(script);
    expect(await typesOf(job(server.url))).toEqual(new Set([type]));
  });

  it.each(["ws", "http"] as const)("over %s sends the token that the server requires", async (mode) => {
    const { environment } = defineCounter();
    await using server = await serve(environment, { port: 0, logLevel: "silent", clientToken: "letmein" });
    const changes = { mode, action: { amount: 1 } };
    expect(await typesOf(job(server.url, { ...changes, token: "letmein" }))).toEqual(new Set([null]));
    expect(await typesOf(job(server.url, changes))).toEqual(new Set([mode === "ws" ? "UPGRADE_401" : "UNAUTHORIZED"]));
    await expect.poll(() => server.capacity().active_sessions).toBe(0);
  });

  it("reports the last stage of a request that timed out", async () => {
    await using server = await startScriptedServer(async (peer) => {
      await peer.answer();
      await never;
    });
    const { rows } = await createGenerator().burst(job(server.url, { timeoutMs: 5_000 }), idle);
    for (const row of rows) {
      expect(row).toMatchObject({ success: false, error_type: "TIMEOUT", step_ms: null } satisfies Partial<RequestRow>);
      expect(row.reset_ms).toBeGreaterThan(0);
    }
  });

  it("counts refused connections, and responses that are not WebSocket", async () => {
    const server = await startScriptedServer(idle);
    expect(await typesOf(job(`${server.url}/elsewhere`, { mode: "http" }))).toEqual(new Set(["HTTP_404"]));
    await server[Symbol.asyncDispose]();
    for (const mode of ["ws", "http"] as const) {
      expect(await typesOf(job(server.url, { mode }))).toEqual(new Set(["CONNECTION_REFUSED"]));
    }
    const talker = createServer((socket) => socket.on("error", idle).resume().end("220 mail\r\n\r\n")).listen(
      0,
      "127.0.0.1",
    );
    await new Promise((resolve) => talker.once("listening", resolve));
    const { port } = talker.address() as { port: number };
    expect(await typesOf(job(`ws://127.0.0.1:${port}`))).toEqual(new Set(["PROTOCOL_ERROR"]));
    talker.close();
  });

  it("ends open requests when it is interrupted, and keeps the finished ones", async () => {
    await using server = await startScriptedServer(async (peer, nth) => {
      await peer.answer();
      if (nth > 2) await never;
      await peer.answer({ observation: { pid: 7 } });
    });
    const generator = createGenerator();
    const { rows } = await generator.burst(job(server.url, { requests: 5 }), ({ succeeded }) => {
      if (succeeded === 2) generator.interrupt();
    });
    expect(rows.map(({ error_type, pid }) => error_type ?? pid).sort()).toEqual([
      7,
      7,
      "INTERRUPTED",
      "INTERRUPTED",
      "INTERRUPTED",
    ]);
  });
});
