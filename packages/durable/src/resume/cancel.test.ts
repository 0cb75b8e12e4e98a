import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { connect } from "#core/connect.js";
import type { RunningServer } from "#core/server/types.js";
import { defineGated, gatedContract } from "../../../../test-support/environments/gated.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { BEGIN, codeOf, countOf, returnTo } from "../../../../test-support/sockets/resumable.js";

const servers = useServers();
const folder = await mkdtemp(join(tmpdir(), "openenv-cancel-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
let journal = "";
let files = 0;
beforeEach(() => {
  journal = join(folder, `${++files}.db`);
});

type Gated = ReturnType<typeof defineGated>;

const start = (gated: Gated, port: number, more: object = { journal }): Promise<RunningServer> =>
  servers.start({ port, graceMs: 20_000, ...more }, gated);

/** Opens a client and cancels a step of it whose code waits. */
async function cancelStep(gated: Gated, { url }: RunningServer) {
  const env = await connect(url, gatedContract, { resume: true });
  await env.reset();
  const controller = new AbortController();
  const step = env.step({ add: 1, waits: true }, { signal: controller.signal });
  await waitFor(() => gated.log.begun === 1);
  controller.abort();
  await expect(step).rejects.toMatchObject({ code: "CANCELLED" });
  return env;
}

/** Stops the server, which waits for the code of the step; the next one continues at its port. */
async function handOver(gated: Gated, server: RunningServer): Promise<void> {
  const closing = server.close();
  expect(await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, 300, "waits"))])).toBe("waits");
  gated.open();
  await closing;
  await start(gated, server.port);
}

test("a hand-over waits for the code of a cancelled step, and the session continues after it", async () => {
  const gated = defineGated("snapshot");
  const server = await start(gated, await findFreePort());
  await using env = await cancelStep(gated, server);
  await handOver(gated, server);
  expect(await env.step({ add: 10 })).toMatchObject({ observation: { count: 11 }, event: 3 });
  expect(gated.log).toEqual({ begun: 1, ended: 1, aborted: 1 });
});

test("a session that is replayed cannot continue from a cancelled step, and says so, until its next reset", async () => {
  const gated = defineGated("replay");
  const server = await start(gated, await findFreePort());
  const env = await cancelStep(gated, server);
  await handOver(gated, server);
  const message = expect.stringContaining("event 2 was cancelled while it ran, which cannot be repeated");
  await expect(env.step({ add: 10 })).rejects.toMatchObject({ code: "SESSION_LOST", message });
  await env.reset();
  expect((await env.step({ add: 10 })).observation).toEqual({ count: 10 });
  await env.close();
});

test("a session that is replayed continues in another process after its next reset", async () => {
  const gated = defineGated("replay");
  const server = await start(gated, await findFreePort());
  await using env = await cancelStep(gated, server);
  gated.open();
  await env.reset();
  await server.close();
  await start(gated, server.port);
  expect((await env.step({ add: 10 })).observation).toEqual({ count: 10 });
});

test.each([
  ["in memory", false],
  ["from a journal, in another process", true],
])("a repeat of a cancelled step gets CANCELLED %s, and never runs", async (_where, isStored) => {
  const gated = defineGated("snapshot");
  let server = await start(gated, await findFreePort(), isStored ? undefined : {});
  const socket = await servers.open(server, "/ws?openenv=resume,cancel");
  const { data } = (await socket.ask(BEGIN)) as { data: { session_id: string } };
  await socket.ask({ type: "reset", seq: 1, ack: 0 });
  const step = { type: "step", data: { add: 1, waits: true }, seq: 2, ack: 1 };
  socket.send(step);
  await waitFor(() => gated.log.begun === 1);
  // That of an earlier request, which arrives late, has no effect.
  socket.send({ type: "cancel", data: { seq: 1 } }, { type: "cancel" }, { type: "cancel", data: { seq: 2 } });
  const cancelled = await socket.receive();
  expect(cancelled).toMatchObject({ type: "error", data: { code: "CANCELLED", fault: "client" }, event: 2, seq: 2 });
  expect(await socket.ask(step)).toEqual(cancelled);
  gated.open();
  socket.ws.terminate();
  if (isStored) {
    await server.close();
    server = await start(gated, server.port);
  }
  const [next] = await returnTo(servers.open, server, [data.session_id]);
  expect(codeOf(await next.ask(step))).toBe("CANCELLED");
  expect(countOf(await next.ask({ type: "step", data: { add: 10 }, seq: 3, ack: 2 }))).toBe(11);
  expect(gated.log.begun).toBe(1);
});
