import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { ownerName } from "#core/server/sqlite/owner.js";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { startRedis, type TestRedis } from "../../../../test-support/journals/redis.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { requireRedis } from "../../../../test-support/requirement.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { BEGIN, openResumable, stepFrame } from "../../../../test-support/sockets/resumable.js";
import { testJournal } from "../../test/journal-contract.js";
import { openRedisJournal } from "./redis.js";

const servers = useServers();
const component = await requireRedis();
let redis: TestRedis | undefined;
if (component.available) redis = await startRedis(component.path);
afterAll(() => redis?.[Symbol.asyncDispose]());
const open = (owner = ownerName("")) => openRedisJournal({ url: redis?.url ?? "", owner });

/** A proxy that can hold what clients send until after they have closed the connection. */
async function startLateProxy(port: number) {
  let isHolding = false;
  const held: [Socket, Buffer][] = [];
  const all = new Set<Socket>();
  const proxy = createServer((client) => {
    const onward = connect(port, "127.0.0.1").on("error", () => {});
    all.add(client.on("error", () => {})).add(onward);
    client.on("data", (chunk) => (isHolding ? held.push([onward, chunk]) : onward.write(chunk)));
    onward.on("data", (chunk) => client.writable && client.write(chunk));
    client.on("close", () => held.some(([socket]) => socket === onward) || onward.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  return {
    url: `redis://127.0.0.1:${(proxy.address() as { port: number }).port}`,
    hold: () => void (isHolding = true),
    pass: () => void (isHolding = false),
    /** Resolves when the server has answered what held this. */
    async deliver(text: string): Promise<void> {
      const answered = held.filter(([, chunk]) => chunk.includes(text)).map(([socket]) => once(socket, "data"));
      expect(answered.length).toBeGreaterThan(0);
      for (const [socket, chunk] of held) socket.write(chunk);
      await Promise.all(answered);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of all) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

describe.skipIf(!component.available)("a journal in Redis", () => {
  // Each test has a store without sessions.
  beforeEach(async () => {
    await redis?.limit(0);
    await redis?.clear();
  });
  testJournal(
    (owner) => open(owner),
    async () => {},
  );

  test("fails while Redis is not reachable, and continues when it is", async () => {
    await using journal = await open();
    await journal.create("away", "hash");
    await redis?.stop();
    await expect(journal.commit("away", 1, { put: [["a", Buffer.from("1")]], remove: [] })).rejects.toMatchObject({
      code: "JOURNAL_UNAVAILABLE",
    });
    await expect(open()).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    await redis?.start();
    await expect
      .poll(async () => {
        await journal.commit("away", 1, { put: [["a", Buffer.from("2")]], remove: [] });
        return Buffer.from((await journal.takeOver("away"))?.cells.get("a") ?? []).toString();
      })
      .toBe("2");
  });

  test("fails while Redis is full, loses nothing, and continues when there is room", async () => {
    await using journal = await open();
    const isFull = { code: "JOURNAL_UNAVAILABLE" };
    const change = (value: string) => ({ put: [["a", Buffer.from(value)] as const], remove: ["b"] });
    await journal.create("full", "hash");
    await journal.commit("full", 1, { put: ["a", "b"].map((name) => [name, Buffer.from("1")] as const), remove: [] });
    await journal.create("again", "hash");
    await journal.end("again", 1, "");
    await redis?.limit(1);
    await expect(journal.commit("full", 1, change("2"))).rejects.toMatchObject(isFull);
    await expect(journal.create("new", "hash")).rejects.toMatchObject(isFull);
    await expect(journal.create("again", "hash")).rejects.toMatchObject(isFull);
    expect([...((await journal.read("full"))?.cells.keys() ?? [])].sort()).toEqual(["a", "b"]);
    await redis?.limit(0);
    await journal.commit("full", 1, change("2"));
    const { cells } = (await journal.takeOver("full")) ?? {};
    expect([...(cells ?? [])].map(([name, value]) => name + value)).toEqual(["a2"]);
    expect(await journal.create("again", "hash")).toBe(2);
  });

  test("changes nothing by a commit that arrives after the next ones", { timeout: 60_000 }, async () => {
    await using proxy = await startLateProxy(Number(new URL(redis?.url ?? "").port));
    await using journal = await openRedisJournal({ url: proxy.url, owner: ownerName("") });
    const change = (value: string) => ({ put: [["a", Buffer.from(value)] as const], remove: [] });
    await journal.create("late", "hash");
    await journal.commit("late", 1, change("1"));
    proxy.hold();
    // Until the connection is taken for half-open.
    await expect(journal.commit("late", 1, change("2"))).rejects.toMatchObject({ code: "JOURNAL_UNAVAILABLE" });
    proxy.pass();
    const isWritten = async () => {
      await journal.commit("late", 1, change("2"));
      return true;
    };
    await expect.poll(() => isWritten().catch(() => false), { timeout: 20_000 }).toBe(true);
    await journal.commit("late", 1, change("3"));
    await proxy.deliver("session:late");
    expect(Buffer.from((await journal.read("late"))?.cells.get("a") ?? []).toString()).toBe("3");
    expect(await journal.takeOver("late")).toMatchObject({ epoch: 2 });
    await journal.commit("late", 2, change("4"));
  });

  test("is refused at the start if it deletes sessions when it is full", async () => {
    await redis?.limit(1e9, "allkeys-lru");
    await expect(open()).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringContaining("allkeys-lru"),
    });
    await redis?.limit(0, "allkeys-lru");
    await (await open()).close();
    await redis?.limit(1e9, "noeviction");
    await (await open()).close();
  });

  test("a session continues, with the answer that waited, when a full Redis has room again", async () => {
    const server = await servers.start({ journal: redis?.url ?? "" }, defineCounter({ seeded: true }));
    const { socket } = await openResumable(servers.open, server);
    await redis?.limit(1);
    let answer: unknown;
    const asked = socket.ask(stepFrame(1, 2, 1)).then((received) => (answer = received));
    const other = await servers.open(server, "/ws?openenv=resume");
    expect(await other.ask(BEGIN)).toMatchObject({ data: { code: "JOURNAL_UNAVAILABLE" } });
    expect(answer).toBeUndefined();
    await redis?.limit(0);
    expect(await asked).toMatchObject({ type: "observation", seq: 2, data: { observation: { count: 1 } } });
  });

  test("that is away is reported by /readyz and the metrics, and a restore by its result", {
    timeout: 60_000,
  }, async () => {
    const options = { journal: redis?.url ?? "", ...WITH_OPERATOR };
    const server = await servers.start(options, defineCounter({ seeded: true }));
    const { socket } = await openResumable(servers.open, server);
    const reasons = async () => ((await (await fetch(`${server.url}/readyz`)).json()) as { reasons: string[] }).reasons;
    const metrics = async () => (await fetchAsOperator(`${server.url}/metrics`)).text();
    expect(await reasons()).toEqual([]);
    await redis?.stop();
    const asked = socket.ask(stepFrame(1, 2, 1));
    await expect.poll(reasons, { timeout: 20_000 }).toEqual(["journal"]);
    expect((await fetch(`${server.url}/readyz?exclude=journal`)).status).toBe(200);
    expect(await metrics()).toMatch(/^openenv_journal_up\{worker="0"\} 0$/m);
    expect(await metrics()).toMatch(/^openenv_journal_answers_held\{worker="0"\} 1$/m);
    await redis?.start();
    expect(await asked).toMatchObject({ seq: 2, data: { observation: { count: 1 } } });
    await expect.poll(reasons, { timeout: 20_000 }).toEqual([]);
    expect(await metrics()).toMatch(/^openenv_journal_answers_held\{worker="0"\} 0$/m);
  });

  test("belongs to a server on another machine until its lease is over", { timeout: 60_000 }, async () => {
    const first = await openRedisJournal({ url: redis?.url ?? "", owner: "1.1/1.1/another-machine" });
    await using second = await open();
    await first.create("leased", "hash");
    await expect(second.takeOver("leased")).rejects.toMatchObject({ code: "SESSION_ELSEWHERE" });
    await first.close();
    expect(await second.takeOver("leased")).toMatchObject({ epoch: 2 });
  });
});

test.each([
  ["no address", "sessions", "an address that is not a URL"],
  ["no Redis", "redis://user:secret@127.0.0.1:1", "redis://127.0.0.1:1"],
])("an address with %s is refused at the start, without its password", async (_what, url, shown) => {
  const refusal = await openRedisJournal({ url, owner: "o" }).then(String, (error: Error) => error);
  expect(refusal).toMatchObject({ code: "INVALID_CONFIG", message: expect.stringContaining(shown) });
  expect(String(refusal)).not.toContain("secret");
});

test("an address that accepts and never answers is refused at the start", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  try {
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const url = `redis://127.0.0.1:${port}`;
    await expect(openRedisJournal({ url, owner: "o" })).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  } finally {
    silent.close();
  }
});

test.skipIf(!component.available).each([
  ["", /needs another user or password \(NOAUTH.*set redis:\/\/<user>:<password>@<host> in JOURNAL/],
  ["user:wrong@", /needs another user or password \(WRONGPASS/],
])("a Redis with a password says so to a server without it: %s", async (user, message) => {
  await using guarded = await startRedis(component.path, ["--requirepass", "right"]);
  const url = guarded.url.replace("redis://", `redis://${user}`);
  const refusal = await openRedisJournal({ url, owner: "o" }).then(String, (error: Error) => error);
  expect(refusal).toMatchObject({ code: "INVALID_CONFIG", message: expect.stringMatching(message) });
  expect(String(refusal)).not.toContain("wrong");
});
