import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { EPISODE_FORMAT, type EpisodeRecord } from "#core/protocol/episode.js";
import type {
  EpisodeRow,
  FailureRow,
  GroupRow,
  RolloutDetail,
  RolloutFacets,
  RolloutLive,
  RolloutPage,
  RolloutSession,
} from "#core/protocol/rollouts.js";
import type { ViewPart } from "#core/protocol/web.js";
import { SqliteDatabase } from "#core/server/sqlite/database.js";
import { defineDesk } from "../../../test-support/environments/tool-environment.js";
import { AS_OPERATOR, WITH_OPERATOR } from "../../../test-support/operator.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { connectVector } from "../../openenv/src/client/index.js";
import { createTasks, defineContract, defineEnvironment } from "../../openenv/src/index.js";
import { definePlugin } from "../../openenv/src/server/plugins/index.js";
import { openArchive } from "./archive.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "openenv-rollouts-"));
  folders.push(folder);
  return join(folder, "data");
}

async function get<T>(url: string, headers: Record<string, string> = {}): Promise<T> {
  const answer = await fetch(url, { headers });
  expect([answer.status, answer.status === 200 ? "" : await answer.clone().text()]).toEqual([200, ""]);
  return (await answer.json()) as T;
}

/** The rows, when there are as many as expected. */
async function rowsOf(url: string, count: number, query = ""): Promise<EpisodeRow[]> {
  let page: RolloutPage<EpisodeRow> | undefined;
  await vi.waitFor(
    async () => {
      page = await get<RolloutPage<EpisodeRow>>(`${url}/rollouts${query}`);
      expect(page.rows).toHaveLength(count);
    },
    { timeout: 20_000, interval: 50 },
  );
  return page?.rows ?? [];
}

/** True if a file of the store has the text. */
function holds(folder: string, text: string): boolean {
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text));
}

/** An episode of a file, which is over. */
function makeRecord({ number = 0, startedAt = Date.now(), text = "" }): EpisodeRecord {
  const result = { observation: { text }, reward: 1, done: true, ms: 1 };
  const shared = { environment: "counter_env", url: "", started_at: new Date(startedAt).toISOString() };
  const start = { ...result, reward: null, done: false };
  const steps = [{ action: {}, ...result }];
  const reset = { seed: number };
  return { format: EPISODE_FORMAT, episode: number, ...shared, reset, start, steps, total_reward: 1, end: "done" };
}

/** A viewer, who has got the first message. */
async function watch(url: string) {
  const stream = await fetch(`${url}/rollouts/live`);
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (isWanted: (message: RolloutLive) => boolean): Promise<RolloutLive> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end === -1) {
        text += (await reader?.read())?.value ?? "";
        continue;
      }
      const message = JSON.parse(text.slice("data: ".length, end)) as RolloutLive;
      text = text.slice(end + 2);
      if (isWanted(message)) return message;
    }
  };
  await until(() => true);
  return { until };
}

describe("a server with a store", () => {
  test("records an episode of a socket", async () => {
    const { url, ...server } = await start({ store: makeFolder() });
    const socket = await open({ url, ...server });
    const metadata = { run: "grpo-17", policy_step: 40, group: "task-12", labels: { model: "small", try: 2 } };
    await socket.ask({ type: "reset", data: { seed: 7, start: 2, metadata } });
    await socket.ask({ type: "step", data: { amount: 3 } });
    await socket.ask({ type: "step", data: { amount: 13 } });
    await socket.ask({ type: "step", data: { amount: 5 } });
    socket.ws.close();
    const [row] = await rowsOf(url, 1);
    expect(row).toMatchObject({
      ...{ run: "grpo-17", policy: 40, group: "task-12", labels: { model: "small", try: "2" }, seed: 7 },
      ...{ env: "counter_env", outcome: "done", steps: 3, reward: 8, link: `#/rollouts/${row?.id}` },
      error: { text: "unlucky amount", fault: "environment" },
      strip: [
        { r: 3, x: 0 },
        { r: null, x: 1 },
        { r: 5, x: 0 },
      ],
    });
    const detail = await get<RolloutDetail>(`${url}/rollouts/${row?.id}`);
    expect(detail).toMatchObject({ complete: true, eventCount: 4, similar: 1, reset: { seed: 7, start: 2, metadata } });
    expect(detail.events.map(({ type, reward, error }) => [type, reward, error?.code])).toEqual([
      ["reset", null, undefined],
      ["step", 3, undefined],
      ["step", null, "EXECUTION_ERROR"],
      ["step", 5, undefined],
    ]);
    expect(detail.events[3]?.answer).toMatchObject({ observation: { count: 10 }, reward: 5, done: true });
    expect((await fetch(`${url}/rollouts/sessions/unknown`)).status).toBe(404);
    const facets = await get<RolloutFacets>(`${url}/rollouts/facets?q=run:grpo-17`);
    expect(facets).toMatchObject({ total: 1, matching: 1, outcomes: { done: { all: 1, matching: 1 } } });
  });

  test.each([false, true])("finds the episodes of a session of a batch by its link; resume %s", async (resume) => {
    const { url } = await start({ store: makeFolder() });
    await using envs = await connectVector(url, { size: 2, resume });
    const results = await envs.reset();
    await envs.step([{ amount: 1 }, { amount: 2 }]);
    for (const [index, result] of results.entries()) {
      const handle = String(result?.url).split("/session/")[1];
      const rewards = async () => {
        const { episodes } = await get<RolloutSession>(`${url}/rollouts/sessions/${handle}`);
        const { rows } = await get<RolloutPage<EpisodeRow>>(`${url}/rollouts`);
        return rows.filter(({ id }) => episodes.includes(id)).map(({ reward }) => reward);
      };
      await expect.poll(rewards, { timeout: 20_000 }).toEqual([index + 1]);
    }
  });

  test("records tool calls over MCP, steps of a batch, and requests over HTTP", async () => {
    const server = await start({ store: makeFolder() }, defineDesk());
    const { url } = server;
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      return (await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
    };
    const rpc = async (method: string, params: object) =>
      (await post("/mcp", { jsonrpc: "2.0", id: 1, method, params })).result;
    const { session_id } = await rpc("openenv/session/create", {});
    await rpc("tools/call", { name: "add", arguments: { a: 1 }, session_id });
    await rpc("tools/call", { name: "fail", arguments: { why: "no row 17 in 'users'" }, session_id });
    await rpc("openenv/session/close", { session_id });
    const [called] = await rowsOf(url, 1, "?q=tool:fail");
    expect(called).toMatchObject({ error: { text: "The tool “…” failed: no row # in “…”" }, steps: 2 });
    const batch = await open(server, "/ws?openenv=batch");
    const opened = await batch.ask({ type: "open_many", data: { count: 2 } });
    const numbers = (opened["data"] as { items: { data: { session: number } }[] }).items.map(
      ({ data }) => data.session,
    );
    const items = numbers.map((session, index) => ({ session, data: { seed: index + 1 } }));
    await batch.ask({ type: "reset_many", data: { items } });
    batch.ws.close();
    await post("/reset", { seed: 3 });
    const [running] = await rowsOf(url, 1, "?q=client:http");
    expect(running).toMatchObject({ seed: 3, outcome: "running" });
    expect((await rowsOf(url, 2, "?q=client:batch")).map(({ seed }) => seed).sort()).toEqual([1, 2]);
    const failures = await get<RolloutPage<FailureRow>>(`${url}/rollouts?by=failure`);
    expect(failures.rows).toMatchObject([{ tool: "fail", count: 1, fault: "environment", newest: called?.id }]);
  });

  test("groups episodes, finds text, and sorts", async () => {
    const server = await start({ store: makeFolder() });
    const socket = await open(server);
    for (const [group, amount] of [
      ["a", 1],
      ["a", 9],
      ["b", 4],
      ["b", 4],
    ] as const) {
      await socket.ask({ type: "reset", data: { metadata: { run: "r", group } } });
      await socket.ask({ type: "step", data: { amount } });
    }
    socket.ws.close();
    const rows = await rowsOf(server.url, 4, "?sort=-reward");
    expect(rows.map(({ reward }) => reward)).toEqual([9, 4, 4, 1]);
    const first = await get<RolloutPage<EpisodeRow>>(`${server.url}/rollouts?sort=reward&limit=2`);
    const second = await get<RolloutPage<EpisodeRow>>(`${server.url}/rollouts?sort=reward&limit=2&after=${first.next}`);
    expect([...first.rows, ...second.rows].map(({ reward }) => reward)).toEqual([1, 4, 4, 9]);
    expect(second.next).toBeNull();
    const groups = await get<RolloutPage<GroupRow>>(`${server.url}/rollouts?by=group&q=reward:>1`);
    expect(groups.rows).toMatchObject([
      { group: "a", count: 2, mean: 5, deviation: 4, noSignal: false },
      { group: "b", count: 2, mean: 4, deviation: 0, noSignal: true },
    ]);
    expect(groups.rows[0]?.episodes.filter(({ matches }) => matches)).toHaveLength(1);
    const refused = await fetch(`${server.url}/rollouts?q=${encodeURIComponent("run:r reward:high")}`);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { code: "VALIDATION_ERROR", term: "reward:high" },
    ]);
  });

  test("keeps neither secrets nor hidden fields of tasks, and with contents off no requests and answers", async () => {
    const contract = defineContract({
      name: "quiz_env",
      action: z.object({ answer: z.string(), api_key: z.string().optional() }),
      observation: z.object({ question: z.string() }),
    });
    const tasks = createTasks(
      { train: [{ question: "the question", solution: "hidden-solution" }] },
      { hidden: ["solution"] },
    );
    const make = () => ({
      reset: ({ task }: { task?: object | undefined }) => ({
        observation: { question: (task as { question: string }).question },
      }),
      step: () => ({ observation: { question: "another" }, reward: 1, done: true }),
      render: ({ question }: { question: string }): ViewPart[] => [
        { kind: "text", runs: [{ text: `view of ${question}` }] },
      ],
    });
    const environment = defineEnvironment(contract, make, { tasks });
    const play = async (options: object): Promise<[string, RolloutDetail]> => {
      const folder = makeFolder();
      const server = await start({ store: folder, ...options }, { environment } as never);
      const socket = await open(server);
      await socket.ask({ type: "reset", data: { split: "train", index: 0, metadata: { password: "hunter-two" } } });
      const answer = await socket.ask({ type: "step", data: { answer: "my-answer", api_key: "sk-secret" } });
      expect(answer).not.toHaveProperty("view");
      socket.ws.close();
      const [row] = await rowsOf(server.url, 1, "?q=task:0 split:train");
      const detail = await get<RolloutDetail>(`${server.url}/rollouts/${row?.id}`);
      await server.close();
      return [folder, detail];
    };
    const [folder, detail] = await play({});
    expect(detail.events[1]).toMatchObject({
      request: { answer: "my-answer", api_key: "[not recorded]" },
      view: { parts: [{ kind: "text", runs: [{ text: "view of another" }] }] },
    });
    expect(["my-answer", "hidden-solution", "sk-secret", "hunter-two"].map((text) => holds(folder, text))).toEqual([
      ...[true, false, false, false],
    ]);
    const [bare, numbers] = await play({ storeContents: "off" });
    expect(numbers.events[1]).toMatchObject({ reward: 1, request: null, answer: null, view: null });
    expect(["my-answer", "the question", "view of"].map((text) => holds(bare, text))).toEqual([false, false, false]);
  });

  test("keeps every text, and no secret among them, in an episode with many events", async () => {
    const contract = defineContract({
      name: "echo_env",
      action: z.object({ text: z.string(), token: z.string().optional(), access_token: z.string().optional() }),
      observation: z.object({ text: z.string() }),
    });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: { text: "" } }),
      step: ({ text }) => ({ observation: { text }, reward: 0.5 }),
    }));
    const folder = makeFolder();
    const server = await start({ store: folder }, { environment } as never);
    const socket = await open(server);
    await socket.ask({ type: "reset" });
    // More than are written at once, with characters that end lines elsewhere, and JSON in a string.
    const texts = Array.from({ length: 50 }, (_, step) => `${step} ä\u2028\u2029\r\n€ 😀 {"access_token": "x"}`);
    for (const [step, text] of texts.entries()) {
      const more = step === 20 ? { access_token: "sk-first" } : step === 40 ? { token: "a token of a text" } : {};
      const { data } = await socket.ask({ type: "step", data: { text, ...more } });
      expect(data).toEqual({ observation: { text, metadata: {} }, reward: 0.5, done: false });
    }
    socket.ws.close();
    const [row] = await rowsOf(server.url, 1, "?q=outcome:cut");
    const { events } = await get<RolloutDetail>(`${server.url}/rollouts/${row?.id}`);
    expect(events.slice(1).map(({ request, answer }) => [request?.["text"], answer?.observation["text"]])).toEqual(
      texts.map((text) => [text, text]),
    );
    expect([events[21]?.request?.["access_token"], events[41]?.request?.["token"]]).toEqual([
      "[not recorded]",
      "a token of a text",
    ]);
    await server.close();
    expect(holds(folder, "sk-first")).toBe(false);
  });

  test("is read by viewers, and deleted from by operators alone", async () => {
    const folder = makeFolder();
    const plugin = definePlugin({
      name: "names",
      authorize: ({ headers }) =>
        headers.authorization === "Bearer ada" ? { name: "ada", rights: ["read-rollouts"] } : undefined,
    });
    const options = { ...WITH_OPERATOR, clientToken: "of-clients", viewerToken: "of-viewers", plugins: [plugin] };
    const server = await start({ store: folder, ...options });
    const socket = await open(server, "/ws", { authorization: "Bearer of-clients" });
    await socket.ask({ type: "reset", data: { metadata: { note: "canary-to-delete" } } });
    socket.ws.close();
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    let id = "";
    await vi.waitFor(async () => {
      const { rows } = await get<RolloutPage<EpisodeRow>>(`${server.url}/rollouts`, as("of-viewers"));
      expect(rows).toHaveLength(1);
      id = rows[0]?.id ?? "";
    });
    const statusOf = async (path: string, headers: Record<string, string>, method = "GET") =>
      (await fetch(`${server.url}${path}`, { method, headers })).status;
    const readers = [as("of-viewers"), as("ada"), AS_OPERATOR, as("of-clients"), {}] as Record<string, string>[];
    expect(await Promise.all(readers.map((one) => statusOf("/rollouts", one)))).toEqual([200, 200, 200, 401, 401]);
    expect(await Promise.all(readers.map((one) => statusOf("/sessions", one)))).toEqual([401, 401, 200, 401, 401]);
    for (const reader of [as("of-viewers"), as("ada"), as("of-clients")]) {
      expect(await statusOf(`/rollouts/${id}`, reader, "DELETE")).toBe(401);
    }
    await vi.waitFor(async () => {
      const { rows } = await get<RolloutPage<EpisodeRow>>(`${server.url}/rollouts?q=canary`, as("of-viewers"));
      expect(rows).toHaveLength(1);
    });
    expect(await statusOf(`/rollouts/${id}`, AS_OPERATOR as never, "DELETE")).toBe(204);
    expect(await statusOf(`/rollouts/${id}`, AS_OPERATOR as never)).toBe(404);
    await server.close();
    expect(holds(folder, "canary")).toBe(false);
  });

  test("sends all viewers what changes, computed once", async () => {
    const server = await start({ store: makeFolder() });
    const [one, two] = [await watch(server.url), await watch(server.url)];
    const socket = await open(server);
    await socket.ask({ type: "reset" });
    await socket.ask({ type: "step", data: { amount: 20 } });
    const seen = [await one.until(({ ended }) => ended > 0), await two.until(({ ended }) => ended > 0)];
    const rows = [{ outcome: "done", reward: 20 }];
    expect(seen[0]).toMatchObject({ added: 1, running: 0, stuck: 0, total: 1, rows });
    // A second computation would have nothing that has ended, and another time.
    expect(seen[1]).toEqual(seen[0]);
  });

  test("sends viewers each episode that ends while more run than one message has", async () => {
    const folder = makeFolder();
    const { url } = await start({ store: folder, maxConcurrentEnvs: 210 });
    await using envs = await connectVector(url, { size: 210 });
    await envs.reset();
    const rows = await rowsOf(url, 210, "?limit=1000&q=outcome:running");
    const live = await watch(url);
    await envs.step(rows.map((_, index) => ({ amount: index < 3 ? 20 : 1 })));
    const ended = new Set<string>();
    await live.until((message) => {
      for (const { id, outcome } of message.rows) if (outcome === "done") ended.add(id);
      return ended.size === 3;
    });
    expect([...ended].filter((id) => rows.some((row) => row.id === id))).toHaveLength(3);
    // More at once than one message has.
    const archive = await openArchive(folder, "write");
    archive.add(Array.from({ length: 1_100 }, (_, number) => makeRecord({ number })));
    archive.close();
    let added = 0;
    await live.until((message) => {
      expect(message.rows.length).toBeLessThanOrEqual(700);
      added += message.added;
      for (const { id, outcome } of message.rows) if (outcome === "done") ended.add(id);
      return ended.size === 1_103;
    });
    expect(added).toBe(1_100);
  });

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
