import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { EpisodeRow, RolloutPage } from "#core/protocol/rollouts.js";
import { SqliteDatabase } from "#core/server/sqlite/database.js";
import { AS_OPERATOR, WITH_OPERATOR } from "../../../test-support/operator.js";
import { get, makeRecord, rowsOf, useStores } from "../../../test-support/rollouts/stores.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { openArchive } from "./archive.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const makeFolder = useStores();

describe("retention", () => {
  test("keeps the newest episodes", async () => {
    const folder = makeFolder();
    const server = await start({ store: folder });
    const socket = await open(server);
    for (let seed = 0; seed < 8; seed++) await socket.ask({ type: "reset", data: { seed } });
    socket.ws.close();
    await rowsOf(server.url, 8);
    await server.close();
    const next = await start({ store: folder, storeMaxEpisodes: 3 });
    const rows = await rowsOf(next.url, 3);
    expect(rows.map(({ seed }) => seed)).toEqual([7, 6, 5]);
  });

  /** Puts episodes that began so many hours ago into a store. */
  async function fill(folder: string, hours: readonly number[], text = ""): Promise<void> {
    const now = Date.now();
    const archive = await openArchive(folder, "write");
    archive.add(hours.map((number) => makeRecord({ number, startedAt: now - number * 3_600_000, text })));
    archive.close();
  }

  test("deletes episodes that are older than so many days", async () => {
    const folder = makeFolder();
    await fill(folder, [49, 1, 25, 23]);
    const { url } = await start({ store: folder, storeMaxAge: 1 });
    const rows = await rowsOf(url, 2);
    expect(rows.map(({ seed }) => seed)).toEqual([1, 23]);
  });

  test("deletes the oldest episodes until the store has the size that it may have", async () => {
    const folder = makeFolder();
    const [episode, most] = [100_000, 600_000];
    await fill(folder, Array.from(Array(10).keys()), "x".repeat(episode / 2));
    const db = await SqliteDatabase.open(join(folder, "rollouts.db"), "read");
    const size = () =>
      Number(db.read("SELECT (page_count - freelist_count) * 8192 FROM pragma_page_count, pragma_freelist_count"));
    expect(size()).toBeGreaterThan(10 * episode);
    const { url } = await start({ store: folder, storeMaxBytes: most });
    await expect.poll(size, { timeout: 20_000 }).toBeLessThanOrEqual(most);
    const { rows } = await get<RolloutPage<EpisodeRow>>(`${url}/rollouts`);
    // One more would be too much: no more were deleted than had to be.
    expect(size()).toBeGreaterThan(most - 1.2 * episode);
    expect(rows.map(({ seed }) => seed)).toEqual(Array.from(rows.keys()));
    expect(rows.length).toBeGreaterThan(2);
    db.close();
  });
});

test("a file that is moved away costs the recording of its episodes, and no session", async () => {
  const folder = makeFolder();
  const server = await start({ store: folder, ...WITH_OPERATOR });
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${server.url}/metrics`, { headers: AS_OPERATOR })).text();
    return Number(new RegExp(`^${name}{.*} (\\S+)$`, "m").exec(text)?.[1]);
  };
  const socket = await open(server);
  const play = async (seed: number) => {
    await socket.ask({ type: "reset", data: { seed } });
    const { data } = await socket.ask({ type: "step", data: { amount: 20 } });
    expect(data).toMatchObject({ reward: 20, done: true });
  };
  await play(1);
  await expect.poll(() => metric("rollouts_episodes_total"), { timeout: 20_000 }).toBe(1);
  expect([await metric("rollouts_up"), await metric("rollouts_dropped_total")]).toEqual([1, 0]);
  const path = join(folder, "rollouts.db");
  renameSync(path, `${path}-old`);
  await play(2);
  await expect.poll(() => metric("rollouts_up"), { timeout: 20_000 }).toBe(0);
  renameSync(`${path}-old`, path);
  await expect.poll(() => metric("rollouts_up"), { timeout: 20_000 }).toBe(1);
  await play(3);
  socket.ws.close();
  await expect.poll(() => metric("rollouts_episodes_total"), { timeout: 20_000 }).toBe(2);
  expect(await metric("rollouts_dropped_total")).toBe(1);
  const { rows } = await get<RolloutPage<EpisodeRow>>(`${server.url}/rollouts`, AS_OPERATOR as never);
  expect(rows.map(({ seed, outcome, reward }) => [seed, outcome, reward])).toEqual([
    [3, "done", 20],
    [2, "incomplete", null],
    [1, "done", 20],
  ]);
});

test("an episode that ends with a large answer is done while its session stays open", async () => {
  const server = await start({ store: makeFolder() });
  const socket = await open(server);
  await socket.ask({ type: "reset", data: { seed: 1 } });
  await socket.ask({ type: "step", data: { amount: 20, metadata: { text: "x".repeat(400_000) } } });
  await expect.poll(async () => (await rowsOf(server.url, 1))[0]?.outcome, { timeout: 20_000 }).toBe("done");
  socket.ws.close();
});

describe("a store that cannot be used stops the start", () => {
  const refused = (folder: string) => expect(start({ store: folder })).rejects;

  test("a file, a folder in place of the file, a foreign file, and a damaged one", async () => {
    const file = makeFolder();
    writeFileSync(file, "");
    await refused(file).toThrow(/The store .+ cannot be used: it is not a folder: name a folder/);
    const folder = makeFolder();
    mkdirSync(join(folder, "rollouts.db"), { recursive: true });
    await refused(folder).toThrow("it is not a regular file");
    const foreign = makeFolder();
    mkdirSync(foreign);
    writeFileSync(join(foreign, "rollouts.db"), "no database ".repeat(1000));
    await refused(foreign).toThrow("it is not an archive of rollouts");
  });

  test("a newer version", async () => {
    const folder = makeFolder();
    await (await start({ store: folder })).close();
    const db = await SqliteDatabase.open(join(folder, "rollouts.db"), "write");
    db.exec("PRAGMA user_version = 9");
    db.close();
    await refused(folder).toThrow("its schema has the version 9, and this program knows 1: use a newer openenv-ts");
  });
});

test("an archive from before there were pairs is read, and gets them at the next start", async () => {
  const folder = makeFolder();
  await (await start({ store: folder })).close();
  const db = await SqliteDatabase.open(join(folder, "rollouts.db"), "write");
  db.exec("DROP TABLE pairs");
  db.close();
  const archive = await openArchive(folder, "read");
  expect([archive.ids(""), [...archive.pairs("")]]).toEqual([[], []]);
  archive.close();
  const { url } = await start({ store: folder, ...WITH_OPERATOR });
  const path = `${url}/rollouts/${"0".repeat(16)}`;
  expect(await get(`${path}/pairs`, AS_OPERATOR as never)).toEqual({ pairs: [] });
  // No such route, although each object has this member.
  expect((await fetch(`${path}/constructor`, { method: "POST", headers: AS_OPERATOR, body: "{}" })).status).toBe(404);
});

test("damaged contents are an error of their episode, and the others are shown", async () => {
  const folder = makeFolder();
  const server = await start({ store: folder });
  const socket = await open(server);
  for (const seed of [1, 2]) await socket.ask({ type: "reset", data: { seed } });
  socket.ws.close();
  const rows = await rowsOf(server.url, 2);
  await server.close();
  const db = await SqliteDatabase.open(join(folder, "rollouts.db"), "write");
  db.exec("UPDATE contents SET body = CAST(replace(CAST(body AS TEXT), '\"seed\":1', '\"seed\":3') AS BLOB)");
  db.close();
  const next = await start({ store: folder });
  const statuses = await Promise.all(rows.map(async ({ id }) => (await fetch(`${next.url}/rollouts/${id}`)).status));
  expect(statuses).toEqual([200, 503]);
});
