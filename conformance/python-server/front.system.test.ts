/** A front of a server of the released Python package, next to that server itself. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rng } from "openenv-ts";
import type { EpisodeRow, RolloutDetail, RolloutPage } from "openenv-ts/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Running, startCommand } from "../../test-support/commands/command-line.js";
import { requirePython } from "../../test-support/requirement.js";
import { type PythonServer, startPythonServer } from "./start-server.js";

const python = await requirePython();
const LIMIT = { timeout: 300_000 };
const CAPACITY = 16;
const REQUESTS = 20_000;

const step = (data: string) => `{"type":"step","data":${data}}`;
const MESSAGES = [
  '{"type":"state"}',
  step('{"amount":1}'),
  '{"type":"reset"}',
  '{"type":"reset","data":{}}',
  '{"type":"reset","data":{"seed":3,"episode_id":"héllo"}}',
  '{"type":"reset","data":{"seed":"x"}}',
  '{"type":"reset","data":{"seed":-1}}',
  '{"type":"reset","data":{"seed":1.5}}',
  '{"type":"reset","data":{"seed":2,"unknown":[1,{"a":null}]}}',
  '{"type":"reset","data":[]}',
  '{"type":"reset","data":null}',
  '{"type":"reset","data":{"seed":1},"more":2}',
  '{"type":"state"}',
  step('{"amount":1}'),
  step('{"amount":1.0}'),
  step('{"amount":0.1}'),
  step('{"amount":1e3}'),
  step('{"amount":-0.0}'),
  step('{"amount":"2"}'),
  step('{"amount":1,"big":123456789012345678901234567890}'),
  step('{"amount":1,"big":9007199254740993,"note":"\\u00e9\\ud83d\\ude00"}'),
  step('{"amount":1,"note":"\\u0000\\n\\t</script>"}'),
  step('{"amount":1,"metadata":{"k":[1.0,2,"3",null,true]}}'),
  step('{"amount":1,"metadata":null}'),
  step('{"amount":null}'),
  step('{"amount":true}'),
  step('{"amount":"x"}'),
  step('{"amount":1,"extra":1}'),
  step("{}"),
  step("[]"),
  step('"text"'),
  step('{"amount":13}'),
  step('{"amount":1,"amount":2}'),
  '{ "type" : "step",\n "data" : { "amount" : 4 } }',
  '{"data":{"amount":5},"type":"step"}',
  '{"type":"step"}',
  '{"type":"state","data":{}}',
  '{"type":"jump"}',
  '{"type":5}',
  '{"type":null}',
  "{}",
  "",
  "{",
  '{"type":"reset"',
  "\u{1f600}",
  '{"type":"mcp"}',
  '{"type":"mcp","data":{}}',
  '{"type":"mcp","data":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}',
  '{"type":"mcp","data":{"jsonrpc":"2.0","id":2,"method":"nope"}}',
  step('{"amount":1000}'),
  step('{"amount":1}'),
  '{"type":"state"}',
];

/** After these the Python package closes the socket. */
const LAST_MESSAGES = ["[]", "7", '"step"', "null"];

/** The texts of the answers to texts that are sent one after the other; after a close, those on another socket. */
async function exchange(url: string, texts: readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  let ws = await open(url);
  for (const text of texts) {
    const next = new Promise<string>((resolve) => {
      ws.once("message", (data: Buffer) => resolve(data.toString()));
      ws.once("close", (code) => resolve(`closed with ${code}`));
    });
    ws.send(text);
    answers.push(await next);
    ws.removeAllListeners();
    if (ws.readyState !== WebSocket.OPEN) ws = await open(url);
  }
  ws.close();
  return answers;
}

async function open(url: string): Promise<WebSocket> {
  const ws = new WebSocket(`${url.replace("http", "ws")}/ws`);
  await once(ws, "open");
  return ws;
}

describe.skipIf(!python.available)("a front of a Python server", LIMIT, () => {
  let upstream: PythonServer;
  let front: Running;
  let url: string;
  let store: string;
  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), "openenv-front-"));
    upstream = await startPythonServer(python.path, CAPACITY, "plain_server.py");
    const options = ["--upstream-sessions", String(CAPACITY), "--port", "0", "--log-level", "error", "--store", store];
    front = startCommand(["serve", "--upstream", upstream.url, ...options], { cwd: import.meta.dirname });
    [, url = ""] = await front.printed(/ at (http:\S+)/);
  }, LIMIT.timeout);
  afterAll(async () => {
    await front?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
    await rm(store, { recursive: true, force: true });
  });

  test("answers each message with the same bytes", async () => {
    const direct = await exchange(upstream.url, MESSAGES);
    const passed = await exchange(url, MESSAGES);
    const pairs = (answers: string[]) => MESSAGES.map((text, nth) => [text, answers[nth]]);
    expect(pairs(passed)).toEqual(pairs(direct));
    for (const last of LAST_MESSAGES) expect(await exchange(url, [last])).toEqual(await exchange(upstream.url, [last]));
  });

  test("has the same schemas and metadata", async () => {
    for (const path of ["/schema", "/metadata"]) {
      const [direct, passed] = await Promise.all(
        [upstream.url, url].map(async (one) => (await fetch(one + path)).json()),
      );
      expect(passed).toMatchObject(direct as object);
    }
  });

  test("gives the released clients the same as the server itself, and records it", async () => {
    const [direct, passed] = await Promise.all([upstream.url, url].map(play));
    expect(passed).toEqual(direct);
    const rows = async () => {
      const page = (await (await fetch(`${url}/rollouts?q=seed:40`)).json()) as RolloutPage<EpisodeRow>;
      return page.rows.filter(({ outcome }) => outcome === "cut");
    };
    await expect.poll(async () => (await rows()).length, { timeout: 20_000 }).toBe(1);
    const { events } = (await (await fetch(`${url}/rollouts/${(await rows())[0]?.id}`)).json()) as RolloutDetail;
    // The archive keeps no metadata that is empty.
    const recorded = events.flatMap(({ answer }) =>
      answer === null ? [] : { ...answer, observation: { ...answer.observation, metadata: {} } },
    );
    expect(recorded).toEqual((passed as unknown[]).slice(0, 2));
    expect(direct).toMatchObject([
      { observation: { total: 40 } },
      { reward: 1.5 },
      { error: expect.any(String) },
      { step_count: 1 },
    ]);
  });

  test("passes the checks of the released validator that the server itself passes", async () => {
    const [direct, passed] = await Promise.all([upstream.url, url].map(validate));
    expect(passed).toEqual(direct);
    expect(direct).not.toHaveLength(0);
  });

  test("answers 20,000 random requests without a status 500, and the server behind it lives", async () => {
    const random = rng(20_261_128);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;
    const statuses = new Map<number, number>();
    const ask = async (): Promise<void> => {
      const body = random.next() < 0.2 ? mangle(pick(BODIES), random.next()) : pick(BODIES);
      const method = pick(["POST", "POST", "POST", "GET", "DELETE"]);
      const headers = { "content-type": pick(["application/json", "text/plain"]), ...pick(HEADERS) };
      const response = await fetch(url + pick(PATHS), { method, headers, ...(method === "POST" && { body }) });
      await response.arrayBuffer();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    };
    const asking = Array.from({ length: 8 }, async (_, nth) => {
      for (let done = nth; done < REQUESTS / 2; done += 8) await ask();
    });
    const sending = Array.from({ length: 4 }, async (_, nth) => {
      for (let done = nth; done < REQUESTS / 2; done += 400) {
        await exchange(
          url,
          Array.from({ length: 100 }, () => mangle(pick(MESSAGES), random.next())),
        );
      }
    });
    await Promise.all([...asking, ...sending]);
    expect([...statuses.keys()].filter((status) => status >= 500 && status !== 503)).toEqual([]);
    expect((await exchange(url, ['{"type":"reset"}']))[0]).toContain('"observation"');
    expect((await fetch(`${upstream.url}/health`)).status).toBe(200);
  });
});

const PATHS = ["/reset", "/step", "/state", "/mcp", "/schema", "/metadata", "/Plain/task", "/nope", "/session/a/step"];
const BODIES = [
  '{"action":{"amount":1}}',
  '{"action":{"amount":"x"}}',
  '{"seed":1}',
  "{}",
  "",
  "[",
  '{"split":"a","index":1}',
];
const HEADERS = [{}, { "openenv-session": "nope" }, { cookie: "openenv_session=x" }, { "openenv-session-name": "a" }];

/** The text with one character replaced. */
function mangle(text: string, where: number): string {
  const at = Math.floor(where * text.length);
  return `${text.slice(0, at)}${String.fromCharCode(32 + ((at * 7) % 90))}${text.slice(at + 1)}`;
}

const PLAY = `
import json, sys
from openenv import GenericEnvClient
out = []
with GenericEnvClient(base_url=sys.argv[1]).sync() as env:
    show = lambda r: out.append({"observation": r.observation, "reward": r.reward, "done": r.done})
    show(env.reset(seed=40))
    show(env.step({"amount": 1.5}))
    try:
        env.step({"amount": "x"})
    except Exception as error:
        out.append({"error": str(error)})
    state = env.state()
    out.append(state if isinstance(state, dict) else state.model_dump())
print(json.dumps(out))
`;
const VALIDATE = `
import json, sys
from openenv.cli._validation import validate_running_environment
report = validate_running_environment(sys.argv[1])
print(json.dumps([(one["id"], one["passed"]) for one in report["criteria"]]))
`;
const play = (url: string): Promise<unknown> => runPython(PLAY, url);
const validate = (url: string): Promise<unknown[]> => runPython(VALIDATE, url) as Promise<unknown[]>;

async function runPython(script: string, url: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(python.path, ["-c", script, url], { timeout: LIMIT.timeout });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}
