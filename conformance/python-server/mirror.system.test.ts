/** The same calls to an environment of the Python package and to ours that mirrors it, answer by answer. */
import { serve } from "openenv-ts/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import { findDifferences } from "../replay/compare.js";
import { loadDivergences } from "../replay/divergences.js";
import type { RecordedAnswer } from "../replay/load.js";
import { openSocket } from "../replay/socket.js";
import { mirror } from "./mirror-environment.js";
import { type PythonServer, startPythonServer } from "./start-server.js";

const python = await requirePython();

const call = (tool_name: string, given: object = {}) => ({ type: "call_tool", tool_name, arguments: given });
/** What an agent may do, well and badly. */
const CALLS = {
  "a list": { type: "list_tools" },
  "a call": call("add", { a: 1, b: 2 }),
  "a default": call("add", { a: 1 }),
  "an object": call("describe", { name: "Bo" }),
  "a text for a number": call("add", { a: "1" }),
  "a wrong type": call("add", { a: "one" }),
  "a missing argument": call("add"),
  "an extra argument": call("add", { a: 1, c: 3 }),
  "an unknown tool": call("nope"),
  "a failure": call("fail", { why: "no luck" }),
  "a first tally": call("tally"),
  "a second tally": call("tally"),
};

/** Differences on purpose: of which answers, where, and the row of divergences.yaml that has the reason. */
const ON_PURPOSE: [answers: RegExp, place: RegExp, id: string][] = [
  [/state/, /episode_id/, "episode-id-made"],
  [/^(ws|http) (step|tally)/, /reward/, "tool-steps-have-rewards"],
  [/^(ws|http) step: a wrong type/, /error_type/, "tool-error-type-is-not-guessed"],
  [/^(post|frame|socket) call/, /error\.data/, "tool-error-has-type"],
];

type Answers = Map<string, RecordedAnswer>;

/** Every answer of a server by its name, in the order of the calls. */
async function play(url: string): Promise<Answers> {
  const answers: Answers = new Map();
  const ask = async (name: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const post = body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const response = await fetch(url + path, post);
    const answer = (await response.json()) as Record<string, unknown>;
    answers.set(name, { status: response.status, response: answer });
    return answer;
  };
  const open = async (path: string) => {
    const { socket } = await openSocket(url + path);
    return {
      say: async (name: string, frame: object): Promise<void> => {
        await socket.send(JSON.stringify(frame));
        answers.set(name, { recv: await socket.take(1) });
      },
      [Symbol.asyncDispose]: () => socket.close(),
    };
  };
  const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
  const toRpc = ({ type, tool_name, arguments: given }: { type: string; tool_name?: string; arguments?: object }) =>
    type === "list_tools" ? rpc("tools/list", {}) : rpc("tools/call", { name: tool_name, arguments: given });

  {
    await using socket = await open("/ws");
    await socket.say("ws state of nothing", { type: "state" });
    await socket.say("ws reset", { type: "reset", data: { seed: 7, episode_id: "e" } });
    await socket.say("ws state after reset", { type: "state" });
    for (const [name, data] of Object.entries(CALLS)) {
      await socket.say(`ws step: ${name}`, { type: "step", data });
      await socket.say(`ws state after ${name}`, { type: "state" });
    }
    await socket.say("ws reset again", { type: "reset", data: {} });
    await socket.say("ws tally after reset", { type: "step", data: call("tally") });
    for (const [name, data] of Object.entries(CALLS)) {
      await socket.say(`frame call: ${name}`, { type: "mcp", data: toRpc(data) });
    }
    await socket.say("ws state after frames", { type: "state" });
  }
  {
    await using socket = await open("/mcp");
    for (const [name, data] of Object.entries(CALLS)) await socket.say(`socket call: ${name}`, toRpc(data));
  }
  await ask("http reset", "/reset", { episode_id: "h" });
  for (const [name, action] of Object.entries(CALLS)) await ask(`http step: ${name}`, "/step", { action });
  for (const [name, data] of Object.entries(CALLS)) await ask(`post call: ${name}`, "/mcp", toRpc(data));
  const created = await ask("session create", "/mcp", rpc("openenv/session/create", {}));
  const { session_id } = created["result"] as { session_id: string };
  answers.set("session create", { response: { ...created, result: { session_id: typeof session_id } } });
  for (const nth of ["first", "second"]) {
    await ask(`session call: ${nth}`, "/mcp", rpc("tools/call", { name: "tally", arguments: {}, session_id }));
  }
  const closed = await ask("session close", "/mcp", rpc("openenv/session/close", { session_id }));
  answers.set("session close", {
    response: JSON.parse(JSON.stringify(closed).replaceAll(session_id, "<id>")) as object,
  });
  return answers;
}

describe.skipIf(!python.available)("an environment with tools, beside the same one of the Python package", () => {
  let server: PythonServer;
  beforeAll(async () => {
    server = await startPythonServer(python.path, 4, "mirror_server.py");
  }, 180_000);
  afterAll(() => server?.[Symbol.asyncDispose]());

  test("answers as that one, but for the differences on purpose", { timeout: 180_000 }, async () => {
    await using own = await serve(mirror, { port: 0, logLevel: "silent" });
    const [theirs, ours] = [await play(server.url), await play(own.url)];
    expect([...ours.keys()]).toEqual([...theirs.keys()]);
    const used = new Set<string>();
    const unexplained: string[] = [];
    for (const [name, expected] of theirs) {
      for (const difference of findDifferences(expected, ours.get(name) as RecordedAnswer)) {
        const place = difference.slice(0, difference.indexOf(":"));
        const rule = ON_PURPOSE.find(([answers, places]) => answers.test(name) && places.test(place));
        if (rule) used.add(rule[2]);
        else unexplained.push(`${name}: ${difference}`);
      }
    }
    expect(unexplained).toEqual([]);
    expect([...used].sort()).toEqual(ON_PURPOSE.map(([, , id]) => id).sort());
    expect(loadDivergences().map(({ id }) => id)).toEqual(expect.arrayContaining([...used]));
  });
});
