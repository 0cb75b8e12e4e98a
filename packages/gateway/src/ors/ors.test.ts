import { defineEnvironment } from "openenv-ts";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { DESK_TOOLS, defineDesk } from "../../../../test-support/environments/tool-environment.js";
import { tasked } from "../../../../test-support/environments/words.js";
import { WITH_OPERATOR } from "../../../../test-support/operator.js";
import { countWaiting, useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();

async function start(environment: unknown = defineCounter().environment, options = {}) {
  const server = await servers.start(options, { environment: environment as never });
  return { server, ors: orsClient(server.url) };
}

describe("what needs no session", () => {
  test("the version, and the name in lower case only for a client of ORS", async () => {
    const { ors } = await start(tasked());
    expect((await ors.request("GET", "/list_environments")).json).toEqual(["Words_Env"]);
    expect((await ors.request("GET", "/list_environments", { id: "x" })).json).toEqual(["words_env"]);
    expect((await ors.request("GET", "/version")).json).toEqual({ version: expect.any(String), build_sha: null });
  });

  test("a path without the environment is redirected to it", async () => {
    const { ors } = await start(tasked());
    for (const [method, path] of [
      ["GET", "/splits"],
      ["GET", "/tools"],
      ["GET", "/prompt"],
      ["POST", "/call"],
    ] as const) {
      const { status, headers } = await ors.request(method, `${path}?a=1`);
      expect([status, headers.get("location")]).toEqual([308, `/words_env${path}?a=1`]);
    }
  });

  test("the tools: those of the environment, else one whose input is the action", async () => {
    const desk = await start(defineDesk().environment);
    const { json } = await desk.ors.request("GET", "/desk_env/tools");
    expect(json).toMatchObject({
      terminal_tool: null,
      supports_score_group: false,
      message_block_types: ["text", "image"],
    });
    const { tools } = json as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(DESK_TOOLS);
    for (const tool of tools) expect(Object.keys(tool).sort()).toEqual(["description", "input_schema", "name"]);
    const counter = await start();
    expect((await counter.ors.request("GET", "/COUNTER_ENV/tools")).json).toMatchObject({
      tools: [{ name: "step", input_schema: { required: ["amount"] } }],
    });
    expect((await counter.ors.request("GET", "/other_env/tools")).status).toBe(404);
  });
});

test("a refused name is sent without half of a character", async () => {
  const { ors } = await start();
  const id = "session-of-half-a-character";
  const ask = async (body: object) =>
    (await ors.request("POST", "/create", { id, body })) as { status: number; json: unknown };
  for (const half of ["\ud800", `${"x".repeat(99)}\u{1f600}`]) {
    const shown = `${half.slice(0, 99)}`.replace("\ud800", "\ufffd");
    const unknown = await ask({ env_name: half });
    expect(unknown).toMatchObject({ status: 404, json: { detail: expect.stringContaining(shown) } });
    const option = await ask({ task_spec: { [half]: 1 } });
    expect(option).toMatchObject({ status: 400, json: { detail: expect.stringContaining(shown) } });
  }
});

describe("the tasks", () => {
  test("are those of the environment, which say where they lie", async () => {
    const { ors } = await start(tasked());
    const ask = (path: string, body: object) => ors.request("POST", `/words_env/${path}`, { id: "x", body });
    expect((await ors.request("GET", "/words_env/splits", { id: "x" })).json).toEqual([
      { name: "train", type: "train" },
      { name: "test", type: "test" },
    ]);
    const second = { word: "slate", openenv: { split: "train", index: 1 } };
    expect((await ask("num_tasks", { split: "train" })).json).toEqual({ num_tasks: 3 });
    expect((await ask("task", { split: "train", index: 1 })).json).toEqual({ task: second, env_name: "words_env" });
    const { tasks } = (await ask("tasks", { split: "train" })).json as { tasks: object[] };
    expect(tasks[1]).toEqual(second);
    expect(tasks).toHaveLength(3);
    const range = await ask("task_range", { split: "train", start: -2, stop: 2 });
    expect(range.json).toEqual({ tasks: [second], env_name: "words_env" });
  });

  test("of an environment without tasks are seeds, as many as the setting says", async () => {
    const { ors } = await start(undefined, { orsSeeds: 5 });
    const ask = (path: string, body: object) => ors.request("POST", `/counter_env/${path}`, { id: "x", body });
    expect((await ors.request("GET", "/counter_env/splits", { id: "x" })).json).toEqual([
      { name: "train", type: "train" },
    ]);
    expect((await ask("num_tasks", { split: "train" })).json).toEqual({ num_tasks: 5 });
    expect((await ask("task", { split: "train", index: 4 })).json).toMatchObject({ task: { seed: 4 } });
    expect((await ask("task_range", { split: "train", start: 3 })).json).toMatchObject({
      tasks: [{ seed: 3 }, { seed: 4 }],
    });
    expect((await ask("tasks", { split: "train" })).json).toMatchObject({
      tasks: [0, 1, 2, 3, 4].map((seed) => ({ seed })),
    });
  });

  test("that do not exist are 400, bodies with other fields 422", async () => {
    const { ors } = await start(tasked());
    const ask = async (path: string, body: unknown) =>
      (await ors.request("POST", `/words_env/${path}`, { id: "x", body })).status;
    expect(await ask("tasks", { split: "no" })).toBe(400);
    expect(await ask("num_tasks", { split: "no" })).toBe(400);
    expect(await ask("task", { split: "train", index: 3 })).toBe(400);
    expect(await ask("task", { split: "train", index: -1 })).toBe(400);
    expect(await ask("task_range", { split: "no" })).toBe(400);
    expect(await ask("task", { split: "train", index: 0, more: 1 })).toBe(422);
    expect(await ask("task", { split: "train" })).toBe(422);
    expect(await ask("task", "[]")).toBe(422);
  });

  test("keep the answers of OpenEnv for a request without the header of ORS", async () => {
    const { ors } = await start(tasked());
    const ask = (path: string, body: object) => ors.request("POST", `/Words_Env/${path}`, { body });
    expect((await ask("task", { split: "train", index: 1 })).json).toEqual({ task: { word: "slate" } });
    const counter = await start();
    expect((await counter.ors.request("POST", "/counter_env/num_tasks", { body: { split: "train" } })).status).toBe(
      501,
    );
  });
});

describe("a session", () => {
  test("begins with its task, by index or by the task itself", async () => {
    const { ors } = await start(tasked());
    const task = { word: "slate", openenv: { split: "train", index: 1 } };
    for (const body of [
      { split: "train", index: 1 },
      { task_spec: task },
      { task_spec: task, env_name: "WORDS_env" },
    ]) {
      const id = await ors.open(body);
      expect((await ors.request("GET", "/words_env/prompt", { id })).json).toEqual([
        { type: "text", text: "Say slate." },
      ]);
      const { result, events } = await ors.call(id, "step", { say: "slate" });
      expect(events.map(({ event }) => event)).toEqual(["task_id", "end"]);
      expect(result).toEqual({
        ok: true,
        output: { blocks: [{ type: "text", text: "slateslate" }], metadata: {}, reward: 1, finished: true },
      });
      const { result: late } = await ors.call(id, "step", { say: "slate" });
      expect(late).toMatchObject({ ok: false, reason: "episode_finished" });
    }
  });

  test("of an environment without tasks begins with a seed, or with the options of its reset", async () => {
    const { ors } = await start();
    const id = await ors.open({ task_spec: { seed: 1, start: 7 } });
    const { json } = await ors.request("GET", "/counter_env/prompt", { id });
    expect(json).toEqual([
      { type: "text", text: "The counter value." },
      { type: "text", text: '{"count":7}' },
    ]);
    await ors.open({ split: "train", index: 999 });
  });

  test("is refused for a task that does not exist, an id in use, and other wrong bodies", async () => {
    const { ors } = await start(tasked());
    const create = async (body: unknown, id?: string) =>
      (await ors.request("POST", "/create", { id: id ?? (await ors.newId()), body })).status;
    expect(await create({ split: "no", index: 0 })).toBe(400);
    expect(await create({ split: "train", index: 3 })).toBe(400);
    expect(await create({ task_spec: { word: "slate" } })).toBe(400);
    expect(await create({ task_spec: { word: "other", openenv: { split: "train", index: 1 } } })).toBe(400);
    expect(await create({ split: "train", index: 0, env_name: "other" })).toBe(404);
    expect(await create({ split: "train", index: 0, toolset_name: "codex" })).toBe(400);
    expect(await create({ split: "train" })).toBe(422);
    expect(await create({})).toBe(422);
    expect(await create({ split: "train", index: 0, task_spec: {} })).toBe(422);
    expect(await create({ split: "train", index: 0, more: 1 })).toBe(422);
    expect(await create({ split: "train", index: 0 }, "short")).toBe(400);
    const id = await ors.open();
    expect(await create({ split: "train", index: 1 }, id)).toBe(400);
    expect((await ors.request("POST", "/create", { body: { split: "train", index: 0 } })).status).toBe(400);
    const counter = await start();
    const wrong = { id: await counter.ors.newId(), body: { task_spec: { seed: 0, unknown: 1 } } };
    expect((await counter.ors.request("POST", "/create", wrong)).status).toBe(400);
  });

  test("has an id, which a client gets again that was cut off behind it", async () => {
    const { ors } = await start();
    const make = (body: unknown) => ors.request("POST", "/create_session", { body });
    const { text } = await make({});
    expect(text).toMatch(/^event: task_id\ndata: [\w-]{36}\n\nevent: end\ndata: \n\n$/);
    const task_id = /data: (\S+)/.exec(text)?.[1];
    expect((await make({ task_id })).text).toBe(text);
    expect((await make({ task_id: "short" })).text).not.toContain("short");
    expect((await make({ env: { A: "1" } })).status).toBe(400);
    expect((await make({ more: 1 })).status).toBe(422);
  });

  test("is opened once if its client repeats the request, which is refused after the first step", async () => {
    const { log, environment } = defineCounter();
    const { ors } = await start(environment);
    const id = await ors.newId();
    const create = async () =>
      (await ors.request("POST", "/create", { id, body: { split: "train", index: 0 } })).status;
    expect(await Promise.all([create(), create()])).toEqual([200, 200]);
    expect(await create()).toBe(200);
    expect(log.created).toBe(1);
    await ors.call(id, "step", { amount: 1 });
    expect(await create()).toBe(400);
  });

  test("whose client was cut off while it waited for a slot is open when the client asks again", async () => {
    const { log, environment } = defineCounter();
    const { server, ors } = await start(environment, { ...WITH_OPERATOR, maxConcurrentEnvs: 1, queueSize: 2 });
    const first = await ors.open();
    const [id, deleted] = [await ors.newId(), await ors.newId()];
    const create = (id: string, signal?: AbortSignal) =>
      ors.request("POST", "/create", { id, body: { split: "train", index: 0 }, signal });
    const cut = new AbortController();
    const before = create(id, cut.signal);
    await expect.poll(() => countWaiting(server.url)).toBe(1);
    cut.abort();
    await expect(before).rejects.toThrow("aborted");
    const repeated = create(id);
    const other = create(deleted);
    await expect.poll(() => countWaiting(server.url)).toBe(2);
    expect((await ors.request("POST", "/ping", { id })).status).toBe(200);
    await ors.request("POST", "/delete", { id: deleted });
    expect((await other).status).not.toBe(200);
    expect(await countWaiting(server.url)).toBe(1);
    expect((await ors.request("POST", "/ping", { id: deleted })).status).toBe(410);
    await ors.request("POST", "/delete", { id: first });
    expect((await repeated).status).toBe(200);
    expect((await ors.call(id, "step", { amount: 1 })).result).toMatchObject({ ok: true });
    expect(log.created).toBe(2);
  });

  test("whose client was cut off while its environment was being made is open when the client asks again", async () => {
    const { log, environment } = defineCounter();
    let go = (): void => {};
    const made = new Promise<void>((resolve) => (go = resolve));
    const { contract, create: factory } = environment;
    const slow = defineEnvironment(contract, async (...given: Parameters<typeof factory>) => {
      await made;
      return factory(...given);
    });
    const { server, ors } = await start(slow);
    const id = await ors.newId();
    const create = (signal?: AbortSignal) =>
      ors.request("POST", "/create", { id, body: { split: "train", index: 0 }, signal });
    const cut = new AbortController();
    const before = create(cut.signal);
    await expect.poll(() => server.capacity().active_sessions).toBe(1);
    cut.abort();
    await expect(before).rejects.toThrow("aborted");
    const ping = () => ors.request("POST", "/ping", { id });
    expect((await ping()).status).toBe(200);
    const repeated = create();
    expect((await ping()).status).toBe(200);
    go();
    expect((await repeated).status).toBe(200);
    expect((await ors.call(id, "step", { amount: 1 })).result).toMatchObject({ ok: true });
    expect(log.created).toBe(1);
  });

  test("that is unknown is 404, one that has ended 410", async () => {
    const { server, ors } = await start();
    const id = await ors.newId();
    const statuses = async () => [
      (await ors.request("POST", "/ping", { id })).status,
      (await ors.request("GET", "/counter_env/prompt", { id })).status,
      (await ors.request("GET", "/counter_env/task_tools", { id })).status,
      (await ors.call(id, "step", { amount: 1 })).status,
    ];
    expect(await statuses()).toEqual([404, 404, 404, 404]);
    await ors.request("POST", "/create", { id, body: { split: "train", index: 0 } });
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    expect((await ors.request("POST", "/ping", { id })).json).toEqual({ status: "ok" });
    expect((await server.sessions()).length).toBe(1);
    expect((await ors.request("POST", "/delete", { id })).json).toEqual({ sid: id });
    expect((await server.sessions()).length).toBe(0);
    expect(await statuses()).toEqual([410, 410, 410, 410]);
    expect((await ors.request("POST", "/delete_session", { id })).json).toEqual({ sid: id });
    expect((await ors.request("POST", "/delete")).status).toBe(400);
  });

  test("has no messages and no scores of groups", async () => {
    const { ors } = await start();
    const id = await ors.open();
    expect((await ors.request("GET", "/counter_env/messages", { id })).status).toBe(404);
    expect((await ors.request("POST", "/counter_env/score_group", { id, body: { candidates: [] } })).status).toBe(404);
  });

  test("expires without requests, and a ping keeps it", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, ors } = await start(undefined, { sessionTimeout: 20 });
    const [kept, left] = [await ors.open(), await ors.open()];
    vi.advanceTimersByTime(15_000);
    expect((await ors.request("POST", "/ping", { id: kept })).status).toBe(200);
    vi.advanceTimersByTime(10_000);
    expect((await server.sessions()).map(({ session_id }) => session_id)).toEqual([kept]);
    expect((await ors.request("POST", "/ping", { id: left })).status).toBe(410);
  });

  test("is refused at capacity, and with a queue waits for its slot", async () => {
    const { ors } = await start(undefined, { maxConcurrentEnvs: 1 });
    await ors.open();
    const id = await ors.newId();
    const full = await ors.request("POST", "/create", { id, body: { split: "train", index: 0 } });
    expect([full.status, full.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(full.headers.get("x-backend-state")).toBe("starting");
    expect((await ors.request("POST", "/ping", { id })).status).toBe(404);
    const queued = await start(undefined, { maxConcurrentEnvs: 1, queueSize: 1 });
    const first = await queued.ors.open();
    const second = queued.ors.open();
    await queued.ors.request("POST", "/delete", { id: first });
    expect((await queued.ors.request("POST", "/ping", { id: await second })).status).toBe(200);
  });
});

describe("access", () => {
  test("needs the client's token, which ORS sends as X-API-Key", async () => {
    const { server } = await start(undefined, { clientToken: "secret-of-clients" });
    expect((await orsClient(server.url).request("POST", "/create_session")).status).toBe(401);
    expect((await orsClient(server.url, { "x-api-key": "wrong" }).request("POST", "/create_session")).status).toBe(401);
    expect((await orsClient(server.url, { "x-api-key": "" }).request("POST", "/create_session")).status).toBe(401);
    const ors = orsClient(server.url, { "x-api-key": "secret-of-clients" });
    expect((await ors.call(await ors.open(), "step", { amount: 1 })).result).toMatchObject({ ok: true });
  });

  test("is refused to pages of other origins", async () => {
    const { ors } = await start();
    const headers = { origin: "https://evil.example" };
    expect((await ors.request("POST", "/create_session", { headers })).status).toBe(403);
  });

  test("production has no ORS", async () => {
    const { ors } = await start(tasked(), { mode: "production" });
    expect((await ors.request("POST", "/create_session")).status).toBe(404);
    expect((await ors.request("GET", "/words_env/tools")).status).toBe(404);
    expect((await ors.request("GET", "/list_environments", { id: "x" })).json).toEqual(["Words_Env"]);
  });

  test("a session of the orchestrator is deleted by it alone", async () => {
    const { server, ors } = await start(undefined, { orchestratorToken: "secret-of-orchestrators" });
    const own = orsClient(server.url, { authorization: "Bearer secret-of-orchestrators" });
    const id = await own.open();
    expect((await ors.request("POST", "/delete", { id })).status).toBe(403);
    expect((await own.request("POST", "/delete", { id })).status).toBe(200);
  });
});
