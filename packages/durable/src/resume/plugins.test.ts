import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { connectVector } from "#core/client/index.js";
import { connect } from "#core/connect.js";
import { definePlugin } from "#core/server/plugins/index.js";
import { counterContract, defineCounter } from "../../../../test-support/environments/counter.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { AS_OPERATOR, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { openResumable } from "../../../../test-support/sockets/resumable.js";

vi.setConfig({ testTimeout: 120_000 });

const servers = useServers();
const folder = await mkdtemp(join(tmpdir(), "openenv-plugins-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes down for whom sessions open, and holds a place for each. `mayOpen` decides about those that open. */
function watch(mayOpen: () => boolean) {
  const opened: string[] = [];
  const admitted: string[] = [];
  let places = 0;
  const plugin = definePlugin({
    name: "watch",
    authorize: ({ headers }) => ({ name: headers.authorization === "Bearer ada" ? "ada" : "other" }),
    admit({ client, principal, isRestored }) {
      admitted.push(`${client} ${principal?.name} ${isRestored}`);
      if (!mayOpen()) return { code: "CAPACITY_REACHED", message: "no more today" };
      places++;
      return { [Symbol.dispose]: () => void places-- };
    },
    session: (_, { client, principal, isRestored }) => void opened.push(`${client} ${principal?.name} ${isRestored}`),
  });
  return { plugin, opened, admitted, places: () => places };
}

test.each([
  ["a session", 1],
  ["a batch", 2],
])("%s that is restored has its principal, and admit() cannot refuse it", async (kind, size) => {
  const counter = defineCounter({ seeded: true });
  const journal = join(folder, `${kind}.db`);
  const before = watch(() => true);
  const first = await servers.start({ journal, port: await findFreePort(), plugins: [before.plugin] }, counter);
  const settings = { resume: true, token: "ada" } as const;
  await using env =
    size === 1
      ? await connect(first.url, counterContract, settings)
      : await connectVector(first.url, counterContract, { ...settings, size });
  await env.reset();
  expect(before.places()).toBe(size);
  await first.close();
  expect(before.places()).toBe(0);

  const after = watch(() => false);
  await servers.start({ journal, plugins: [after.plugin], port: first.port }, counter);
  await env.reset();
  const client = size === 1 ? "websocket" : "batch";
  expect(after.opened).toEqual(Array(size).fill(`${client} ada true`));
  expect(after.admitted).toEqual(after.opened);
});

test("what admit() holds for a session that is restored ends with the session, and not by a refusal of another", async () => {
  const counter = defineCounter({ seeded: true });
  const journal = join(folder, "held.db");
  const { plugin: open } = watch(() => true);
  const first = await servers.start({ journal, port: await findFreePort(), plugins: [open] }, counter);
  const env = await connect(first.url, counterContract, { resume: true, token: "ada" });
  await env.reset();
  await first.close();
  const { plugin, places } = watch(() => true);
  const full = definePlugin({ name: "full", admit: () => ({ code: "CAPACITY_REACHED", message: "no more today" }) });
  await servers.start({ journal, plugins: [plugin, full], port: first.port }, counter);
  await env.reset();
  expect(places()).toBe(1);
  await env.close();
  await expect.poll(places, { timeout: 60_000 }).toBe(0);
});

test("detached() is called for a session without a connection: by address over HTTP, a copy, and one that is restored", async () => {
  const seen: string[] = [];
  const plugin = definePlugin({
    name: "watch",
    session: (_, { client, isRestored }) => ({ detached: () => void seen.push(`${client} ${isRestored}`) }),
  });
  const counter = defineCounter({ seeded: true });
  const journal = join(folder, "detached.db");
  const first = await servers.start({ ...WITH_OPERATOR, journal, plugins: [plugin] }, counter);
  const headers = { "content-type": "application/json" };
  const reset = { method: "POST", headers, body: "{}" };
  for (let round = 0; round < 2; round++) await fetch(`${first.url}/session/the-session-of-ada/reset`, reset);
  expect(seen.splice(0)).toEqual(["http false"]);
  const { socket, id } = await openResumable(servers.open, first);
  const body = '{"count":1}';
  const forked = await fetch(`${first.url}/sessions/${id}/fork`, {
    ...reset,
    headers: { ...headers, ...AS_OPERATOR },
    body,
  });
  expect(forked.status).toBe(200);
  expect(seen.splice(0)).toEqual(["websocket false"]);
  socket.ws.terminate();
  await expect.poll(() => seen, { timeout: 60_000 }).toEqual(["websocket false"]);
  await first.close();
  seen.length = 0;
  const second = await servers.start({ journal, plugins: [plugin] }, counter);
  await fetch(`${second.url}/session/the-session-of-ada/step`, { ...reset, body: '{"action":{"amount":1}}' });
  expect(seen).toEqual(["http true"]);
});
