import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createTasks, defineEnvironment, type EnvironmentDefinition } from "openenv-ts";
import { connect, connectVector } from "openenv-ts/client";
import type { RunningServer, ServeOptions } from "openenv-ts/server";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { counterContract, defineCounter } from "../../../../test-support/environments/counter.js";
import { useMcp } from "../../../../test-support/environments/mcp.js";
import { defineDesk } from "../../../../test-support/environments/tool-environment.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { serveUpstreams, type UpstreamOptions } from "../serve-upstreams.js";

const servers = useServers();
const mcp = useMcp();
const fronts: RunningServer[] = [];
afterEach(async () => {
  for (const front of fronts.splice(0)) await front.close();
});

async function serveFrontOf(
  upstreams: readonly RunningServer[],
  more: Partial<UpstreamOptions> = {},
  options: ServeOptions = {},
) {
  const urls = upstreams.map(({ url }) => url);
  const front = await serveUpstreams({ urls, ...more }, { port: 0, logLevel: "silent", graceMs: 200, ...options });
  fronts.push(front);
  return front;
}

/** A front of one upstream. */
async function startPair(
  environment: EnvironmentDefinition = defineCounter().environment as never,
  more: Partial<UpstreamOptions> = {},
) {
  const upstream = await servers.start({}, { environment });
  return { upstream, front: await serveFrontOf([upstream], { sessionsPerUpstream: 8, ...more }) };
}

async function startTwo(more: Partial<UpstreamOptions>) {
  const start = () => servers.start({}, { environment: counter });
  const upstreams = [await start(), await start()];
  return { upstreams, front: await serveFrontOf(upstreams, more) };
}

function upstreamWithSession(upstreams: readonly RunningServer[]): RunningServer {
  const found = upstreams.find((one) => one.capacity().active_sessions > 0);
  if (found === undefined) throw new Error("no upstream has a session");
  return found;
}

/** Sends texts one after the other, and returns the texts of the answers. */
async function exchange(url: string, texts: readonly string[], query = ""): Promise<string[]> {
  const ws = new WebSocket(`${url.replace("http", "ws")}/ws${query}`);
  await once(ws, "open");
  const answers: string[] = [];
  for (const text of texts) {
    ws.send(text);
    const [data] = (await once(ws, "message")) as [Buffer];
    answers.push(data.toString());
  }
  ws.close();
  return answers;
}

const counter = defineEnvironment(
  counterContract,
  () => {
    let count = 0;
    return {
      reset: ({ start }) => ({ observation: { count: (count = start) } }),
      step: ({ amount }) => ({ observation: { count: (count += amount) }, reward: amount / 2, done: count >= 10 }),
    };
  },
  { seeded: true },
);

const pictured = defineEnvironment(
  counterContract,
  () => {
    let count = 0;
    return {
      reset: ({ start }) => ({ observation: { count: (count = start) } }),
      step: ({ amount }) => ({ observation: { count: (count += amount) } }),
      render: ({ count: shown = 0 }) => {
        if (shown > 60) throw new Error(`no picture of ${shown}`);
        return [{ kind: "text", runs: [{ text: `${shown} of 10`, tone: "positive" }] }];
      },
      actions: () => [{ label: "1 more", action: { amount: 1 } }],
    };
  },
  { seeded: true },
);

describe("a front", () => {
  test("passes messages and answers on as they are", async () => {
    const { upstream, front } = await startPair();
    const texts = [
      '{"type":"step","data":{"amount":1}}',
      '{ "type": "reset" , "data": {"start": 1.0} }',
      '{"type":"step","data":{"amount":2.0}}',
      '{"type":"step","data":{"amount":"x"}}',
      '{"type":"step","data":{"amount":1,"more":12345678901234567890}}',
      '{"type":"step"}',
      '{"type":"jump"}',
      "{",
      "[1]",
      '{"type":"state","data":{}}',
      '{"type":"mcp","data":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}',
      '{"type":"step","data":{"amount":13}}',
    ];
    expect(await exchange(front.url, texts)).toEqual(await exchange(upstream.url, texts));
  });

  test.each([false, true])("passes the views of its upstream on to a page (replay: %s)", async (replay) => {
    const { upstream, front } = await startPair(pictured, { replay });
    const step = (amount: number) => JSON.stringify({ type: "step", data: { amount } });
    const texts = ['{"type":"reset","data":{"seed":1,"start":0}}', step(2), step(66), step(3), '{"type":"state"}'];
    const direct = (await exchange(upstream.url, texts, "?view=1")).map((text) => JSON.parse(text));
    expect(direct[1]).toMatchObject({
      view: { parts: [{ runs: [{ text: "2 of 10" }] }], actions: [{ label: "1 more" }] },
    });
    expect(direct[2]).toMatchObject({ view: { problem: expect.stringContaining("no picture of 68") } });
    const passed = await exchange(front.url, texts, "?view=1");
    const unify = (text: string) => text.replace(/"episode_id":"[^"]+"/, '"episode_id":""');
    expect(passed.map((text) => JSON.parse(unify(text)))).toEqual(
      direct.map((answer) => JSON.parse(unify(JSON.stringify(answer)))),
    );
    // A socket without views gets what it gets from the upstream.
    expect(await exchange(front.url, texts.slice(0, 4))).toEqual(await exchange(upstream.url, texts.slice(0, 4)));
  });

  test("keeps the numbers of actions and observations of a client that resumes", async () => {
    const { upstream, front } = await startPair(counter);
    await using direct = await connect(upstream.url, counterContract, { resume: true });
    await using passed = await connect(front.url, counterContract, { resume: true });
    for (const env of [direct, passed]) await env.reset({ start: 3 });
    const results = [];
    for (const env of [direct, passed]) results.push([await env.step({ amount: 1 }), await env.state()]);
    const [one, other] = results as [(typeof results)[0], (typeof results)[0]];
    expect(other[0]).toMatchObject({ observation: { count: 4 }, reward: 0.5, done: false });
    expect(other[0]).toMatchObject({ ...one?.[0], metadata: expect.anything(), url: expect.anything() });
    expect(other[1]).toMatchObject({ step_count: 1 });
  });

  test("counts the episode, and answers over HTTP", async () => {
    const { front } = await startPair(counter);
    const reset = await post(front.url, "/reset", { start: 9 });
    const id = reset.headers.get("openenv-session") ?? "";
    expect(await reset.json()).toMatchObject({ observation: { count: 9 }, done: false });
    const step = await post(front.url, "/step", { action: { amount: 1 } }, { "openenv-session": id });
    expect(await step.json()).toMatchObject({ observation: { count: 10 }, reward: 0.5, done: true });
    const wrong = await post(front.url, "/step", { action: { amount: "x" } }, { "openenv-session": id });
    expect(wrong.status).toBe(422);
    expect(await front.sessions()).toMatchObject([{ step_count: 1 }]);
  });

  test("has the contract, the tools and the tasks of its upstream", async () => {
    const tasks = createTasks({ train: [{ word: "apple" }, { word: "plum" }] });
    const { environment } = defineDesk({ tasks });
    const { upstream, front } = await startPair(environment as never);
    for (const path of ["/schema", "/metadata", "/desk_env/splits"]) {
      const [direct, passed] = await Promise.all(
        [upstream, front].map(({ url }) => fetch(url + path).then((r) => r.json())),
      );
      expect(passed).toEqual(direct);
    }
    expect(await (await post(front.url, "/desk_env/task", { split: "train", index: 1 })).json()).toEqual({
      task: { word: "plum" },
    });
    expect((await post(front.url, "/desk_env/task", { split: "train", index: 9 })).status).toBe(400);
    const { client } = await mcp.open(front);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("add");
    expect(await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })).toMatchObject({
      structuredContent: { result: 5 },
    });
    expect(await client.callTool({ name: "fail", arguments: { why: "no" } })).toMatchObject({ isError: true });
    const ors = orsClient(front.url);
    const called = await ors.call(await ors.open(), "add", { a: 4, b: 5 });
    expect(called.result).toMatchObject({ ok: true, output: { blocks: [{ text: "9" }] } });
  });

  test("has sessions in batches, and asks for the tokens of its own", async () => {
    const upstream = await servers.start({}, { environment: counter });
    const front = await serveFrontOf([upstream], { sessionsPerUpstream: 4 }, { clientToken: "a token of the tests" });
    await expect(connect(front.url, counterContract)).rejects.toThrow("401");
    expect((await post(front.url, "/reset", {})).status).toBe(401);
    await using env = await connectVector([front.url], counterContract, { size: 3, token: "a token of the tests" });
    await env.reset();
    const results = await env.step([{ amount: 1 }, { amount: 2 }, { amount: 3 }]);
    expect(results).toMatchObject([1, 2, 3].map((count) => ({ observation: { count }, reward: count / 2 })));
  });

  test("lets clients wait for a place, and knows the sum of the places", async () => {
    const upstreams = [
      await servers.start({}, { environment: counter }),
      await servers.start({}, { environment: counter }),
    ];
    const front = await serveFrontOf(upstreams, {}, WITH_OPERATOR);
    expect(front.capacity()).toMatchObject({ max_sessions: 2 });
    const first = await connect(front.url, counterContract);
    const second = await connect(front.url, counterContract);
    await Promise.all([first.reset(), second.reset()]);
    let isOpen = false;
    const third = connect(front.url, counterContract).then(async (env) => {
      await env.reset();
      isOpen = true;
      return env;
    });
    await waitFor(() => front.capacity().available_slots === 0);
    await sleep(50);
    expect(isOpen).toBe(false);
    await first.close();
    await using late = await third;
    expect((await late.step({ amount: 1 })).observation.count).toBe(1);
    const metrics = await (await fetchAsOperator(`${front.url}/metrics`)).text();
    for (const { url } of upstreams) expect(metrics).toContain(`upstream_sessions{worker="0",upstream="${url}"} 1`);
    await second.close();
  });

  test("has room for all sessions of its upstreams", async () => {
    const { front } = await startPair(counter, { sessionsPerUpstream: 300 });
    expect(front.capacity()).toMatchObject({ max_sessions: 300 });
  });

  test("reports a lost upstream to its sessions only", async () => {
    const upstreams = [
      await servers.start({}, { environment: counter }),
      await servers.start({}, { environment: counter }),
    ];
    const front = await serveFrontOf(upstreams);
    await using one = await connect(front.url, counterContract);
    await using other = await connect(front.url, counterContract);
    for (const env of [one, other]) await env.reset();
    await upstreams[0]?.close();
    const results = await Promise.allSettled([one, other].map((env) => env.step({ amount: 1 })));
    const lost = results.filter(({ status }) => status === "rejected");
    expect(lost).toMatchObject([
      { reason: { code: "SESSION_LOST", message: expect.stringContaining(upstreams[0]?.url ?? "") } },
    ]);
    expect(results.find(({ status }) => status === "fulfilled")).toMatchObject({ value: { reward: 0.5 } });
  });

  test("makes an episode again in another upstream, for any client, and forks it", async () => {
    const { upstreams, front } = await startTwo({ sessionsPerUpstream: 4, replay: true });
    await using env = await connect(front.url, counterContract, { resume: true });
    await env.reset({ seed: 1, start: 2 });
    await env.step({ amount: 3 });
    await upstreamWithSession(upstreams).close();
    expect(await env.step({ amount: 1 })).toMatchObject({ observation: { count: 6 }, reward: 0.5 });
    const copies = await env.fork(2);
    for (const [nth, copy] of copies.entries()) {
      expect((await copy.step({ amount: nth })).observation).toEqual({ count: 6 + nth });
      await copy.close();
    }
    expect(await env.step({ amount: 2 })).toMatchObject({ observation: { count: 8 } });
  });

  test("says why an episode cannot be made again", async () => {
    const { upstreams, front } = await startTwo({ replay: true });
    await using env = await connect(front.url, counterContract);
    await env.reset();
    await upstreamWithSession(upstreams).close();
    const message = /closed the session.*could not be made again: its reset had no seed/;
    await expect(env.step({ amount: 1 })).rejects.toThrow(message);
  });

  test("does not start with --replay when the seeds do not decide the answers", async () => {
    const dice = defineEnvironment(counterContract, () => ({
      reset: () => ({ observation: { count: Math.floor(Math.random() * 1e9) } }),
      step: () => ({ observation: { count: 0 } }),
    }));
    await expect(startPair(dice as never, { replay: true })).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringMatching(/does not honour seeds.*differ/s),
    });
  });
});

function post(url: string, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}
