import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
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
import type { PluginRoute, RouteCall } from "#core/server/plugins/plugin.js";
import { defineDesk } from "../../../test-support/environments/tool-environment.js";
import { AS_OPERATOR, WITH_OPERATOR } from "../../../test-support/operator.js";
import { get, makeRecord, rowsOf, useStores } from "../../../test-support/rollouts/stores.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { connectVector } from "../../openenv/src/client/index.js";
import { createTasks, defineContract, defineEnvironment } from "../../openenv/src/index.js";
import { definePlugin } from "../../openenv/src/server/plugins/index.js";
import { openArchive } from "./archive.js";
import { createRoutes } from "./routes.js";
import { StoreThread } from "./store/thread.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const makeFolder = useStores();

/** True if a file of the store has the text. */
function holds(folder: string, text: string): boolean {
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text));
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
    }, 20_000);
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
    }, 20_000);
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

  test("sends a slow viewer an event when it has missed messages", async () => {
    const folder = makeFolder();
    await start({ store: folder });
    const threads = new StoreThread("reader", folder);
    onTestFinished(() => threads.close());
    const route = createRoutes(threads)["/rollouts/*"] as PluginRoute;
    const ended = new AbortController();
    onTestFinished(() => ended.abort());
    const request = new Request("http://127.0.0.1/rollouts/live", { signal: ended.signal });
    const response = (await route.GET?.(request, {} as RouteCall)) as Response;
    // The first message stays, and at least one more does not fit.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toMatch(/^data: \{/);
    const texts = [(await reader?.read())?.value, (await reader?.read())?.value];
    expect(texts.map((text) => text?.startsWith("event: missed\ndata: null\n\ndata: {"))).toEqual([true, false]);
  });

  test("sends viewers each episode that ends while more run than one message has", async () => {
    const folder = makeFolder();
    const { url } = await start({ store: folder, maxConcurrentEnvs: 210 });
    await using envs = await connectVector(url, { size: 210 });
    await envs.reset();
    const rows = await rowsOf(url, 210, "?limit=1000&q=outcome:running");
    const live = await watch(url);
    // What has not changed is not sent again.
    await live.until((message) => message.running === 210 && message.rows.length === 0);
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
});
