/** The tools of a generated Python package, called through the released Python client against a server of ours. */
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { createPythonFolder } from "../../../../test-support/commands/python-package.js";
import { requirePython } from "../../../../test-support/requirement.js";
import { defineContract } from "../../../openenv/src/contract/contract.js";
import { datetime } from "../../../openenv/src/contract/fields.js";
import { defineTools } from "../../../openenv/src/contract/tools/tools.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import { serve } from "../../../openenv/src/serve.js";
import { parseName } from "../project/names.js";
import { renderPythonPackage } from "./python/python-package.js";
import { readTypes } from "./read-types.js";

const python = await requirePython();
const TIME_LIMIT = { timeout: 300_000 };

const contract = defineContract({
  name: "booth_env",
  action: z.object({ move: z.enum(["left", "right"]) }),
  observation: z.object({ at: z.int() }),
  tools: defineTools({
    guess: {
      description: "Guesses.",
      input: z.object({ word: z.string(), tries: z.int().min(1).default(7), class: z.string().optional() }),
      output: z.object({ right: z.boolean(), given: z.string(), at: datetime() }),
    },
    list: { description: "Has the name of a type.", output: z.array(z.int()) },
    "look-up": { description: "Returns anything." },
    fail: { description: "Fails.", output: z.string() },
  }),
});
const booth = defineEnvironment(contract, () => {
  let at = 0;
  return {
    reset: () => ({ observation: { at: (at = 0) } }),
    step: ({ move }) => ({ observation: { at: (at += move === "left" ? -1 : 1) }, reward: 1 }),
    afterTool: ({ name }) => (name === "guess" ? { reward: 2, done: true } : {}),
    tools: {
      guess: (given) => ({ right: given.word === "crane", given: JSON.stringify(given), at: new Date(0) }),
      list: () => [1, 2],
      "look-up": () => ({ at }),
      fail: () => {
        throw new Error("no luck");
      },
    },
  };
});

const desk = defineEnvironment(
  defineContract({
    name: "desk_env",
    tools: defineTools({ add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int() }), output: z.int() } }),
  }),
  () => ({ reset: () => ({ observation: {} }), tools: { add: ({ a, b }) => a + b } }),
);

function packageOf({ contract }: { contract: Pick<typeof booth.contract, "schemas"> }, name: string) {
  const names = parseName(name);
  return renderPythonPackage(readTypes(contract.schemas(), names.prefix), names, "openenv");
}

/** Importing the Python package takes seconds, so one process runs everything. */
const script = (boothUrl: string, deskUrl: string): string => `
import asyncio, json
from booth_env import BoothAction, BoothEnv, BoothGuessResult, ToolCallError
from desk_env import DeskAction, DeskEnv
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.generic_client import GenericEnvClient

def failure(call):
    try:
        call()
    except Exception as error:
        return error

def play(env):
    env.reset()
    moved = env.step(BoothAction(move="right"))
    guessed = env.tools.guess(word="crane", class_="c")
    failed = failure(lambda: env.tools.fail())
    return {
        "moved": [type(moved.observation).__name__, moved.observation.at],
        "guessed": [type(guessed.data).__name__, guessed.data.right, json.loads(guessed.data.given), guessed.data.at.year],
        "earned": [guessed.reward, guessed.done],
        "others": [env.tools.list_().data, env.tools.look_up().data],
        "failed": [type(failed).__name__, failed.tool_name, failed.error_type, failed.reward, "no luck" in str(failed)],
        "refused": type(failure(lambda: env.tools.guess(word="x", tries=0))).__name__,
        "steps": env.state().step_count,
    }

with BoothEnv(base_url="${boothUrl}").sync() as env:
    blocking = play(env)
    with env.new_session() as other:
        other.reset()
        child = other.tools.list_().data
    called = env.step(CallToolAction(tool_name="look-up"))
    listed = env.step(ListToolsAction())
with BoothEnv(base_url="${boothUrl}") as env:
    plain = play(env)

async def awaited():
    async with BoothEnv(base_url="${boothUrl}") as env:
        await env.reset()
        return (await env.tools.guess(word="crane", tries=3)).data

with DeskEnv(base_url="${deskUrl}").sync() as env:
    env.reset()
    added = env.tools.add(a=1, b=2).data
    stepped = env.step(DeskAction(tool_name="add", arguments={"a": 1, "b": 2}))
    wrong = failure(lambda: env.tools.add(a=1, b="many"))
    payload = env._step_payload(DeskAction(tool_name="add"))

with GenericEnvClient(base_url="${boothUrl}").sync() as env:
    env.reset()
    untyped = str(failure(lambda: env.step({"tool_name": "list"})))

print(json.dumps({
    "blocking": blocking,
    "plain": plain,
    "awaited": json.loads(asyncio.run(awaited()).given),
    "child": child,
    "called": [type(called.observation).__name__, called.observation.result["data"], called.reward],
    "listed": [type(listed.observation).__name__, [tool.name for tool in listed.observation.tools]],
    "desk": [added, type(stepped.observation).__name__, stepped.observation.result["data"], type(wrong).__name__, payload],
    "untyped": untyped,
}))
`;

describe.skipIf(!python.available)("the tools of a generated Python package", TIME_LIMIT, () => {
  let told: Record<string, unknown>;
  beforeAll(async () => {
    await using server = await serve(booth, { port: 0, logLevel: "silent" });
    await using tools = await serve(desk, { port: 0, logLevel: "silent" });
    await using folder = await createPythonFolder({
      ...packageOf(booth, "booth-env"),
      ...packageOf(desk, "desk-env"),
    });
    told = (await folder.run(python.path, script(server.url, tools.url))) as Record<string, unknown>;
  }, TIME_LIMIT.timeout);

  const played = {
    moved: ["BoothObservation", 1],
    guessed: ["BoothGuessResult", true, { word: "crane", tries: 7, class: "c" }, 1970],
    earned: [2, true],
    others: [[1, 2], { at: 1 }],
    failed: ["ToolCallError", "fail", "execution_error", null, true],
    refused: "ValidationError",
    steps: 5,
  };

  test("are typed methods with blocking calls", () => {
    expect(told["blocking"]).toEqual(played);
    expect(told["plain"]).toEqual(played);
    expect(told["child"]).toEqual([1, 2]);
  });

  test("are typed async methods", () => {
    expect(told["awaited"]).toEqual({ word: "crane", tries: 3 });
  });

  test("can be called and listed with the actions of the Python package, and return its classes", () => {
    expect(told["called"]).toEqual(["CallToolObservation", { at: 1 }, 0]);
    expect(told["listed"]).toEqual(["ListToolsObservation", Object.keys(contract.tools)]);
  });

  test("work without an action, and every call has its type", () => {
    const payload = { type: "call_tool", tool_name: "add" };
    expect(told["desk"]).toEqual([3, "DeskObservation", 3, "ValidationError", payload]);
  });

  test("are distinguished from the action by type, and the error of a call without a type says so", () => {
    expect(told["untyped"]).toMatch(/type: Field required: .*call_tool.*VALIDATION_ERROR/);
  });
});
