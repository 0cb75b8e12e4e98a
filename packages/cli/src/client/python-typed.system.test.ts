/** The generated Python package on openenv-ts, type-checked and against our server. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { createPythonFolder, type PythonFolder } from "../../../../test-support/commands/python-package.js";
import { requirePythonPackage } from "../../../../test-support/requirement.js";
import { defineContract } from "../../../openenv/src/contract/contract.js";
import { datetime } from "../../../openenv/src/contract/fields.js";
import { defineTools } from "../../../openenv/src/contract/tools/tools.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import type { SchemaBody } from "../../../openenv/src/protocol/http.js";
import { serve } from "../../../openenv/src/serve.js";
import { parseName } from "../project/names.js";
import { renderPythonPackage } from "./python/python-package.js";
import { readTypes } from "./read-types.js";

const python = await requirePythonPackage();
const TIME_LIMIT = { timeout: 300_000 };

const booth = defineEnvironment(
  defineContract({
    name: "booth_env",
    action: z.object({ from: z.enum(["left", "right"]), far: z.int().min(1).default(1) }),
    observation: z.object({ at: z.int(), when: datetime() }),
    state: z.object({ lambda: z.int() }),
    tools: defineTools({
      guess: {
        description: "Guesses.",
        input: z.object({ word: z.string(), tries: z.int().min(1).default(7), class: z.string().optional() }),
        output: z.object({ right: z.boolean(), given: z.string() }),
      },
      "look-up": { description: "Lists.", output: z.array(z.int()) },
      fail: { description: "Fails.", output: z.string() },
    }),
  }),
  () => {
    let at = 0;
    const show = () => ({ observation: { at, when: new Date(0) } });
    return {
      reset: () => {
        at = 0;
        return show();
      },
      step: ({ from, far }) => {
        at += from === "left" ? far : -far;
        return { ...show(), reward: 1, metadata: { note: "hello" } };
      },
      state: () => ({ lambda: at }),
      afterTool: ({ name }) => (name === "guess" ? { reward: 2, done: true } : {}),
      tools: {
        guess: (given) => ({ right: given.word === "crane", given: JSON.stringify(given) }),
        "look-up": () => [1, 2],
        fail: () => {
          throw new Error("no luck");
        },
      },
      snapshot: () => at,
      restore: (saved: number) => {
        at = saved;
      },
    };
  },
);

const desk = defineEnvironment(
  defineContract({
    name: "desk_env",
    tools: defineTools({ add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int() }), output: z.int() } }),
  }),
  () => ({ reset: () => ({ observation: {} }), tools: { add: ({ a, b }) => a + b } }),
);

/** An action that is a union, with every kind of type that needs an import. */
const shop = {
  action: {
    oneOf: [{ $ref: "#/$defs/Buy" }, { $ref: "#/$defs/Leave" }],
    $defs: {
      Buy: {
        title: "Buy",
        type: "object",
        required: ["price", "lines"],
        properties: {
          kind: { const: "buy", default: "buy", type: "string" },
          price: { anyOf: [{ type: "number" }, { type: "string", pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$" }] },
          lines: { type: "object", additionalProperties: { type: "integer" } },
          wait: { type: "string", format: "duration" },
          at: { type: "string", format: "time" },
          blob: { type: "string", format: "binary" },
          data: { $ref: "#/$defs/Json" },
        },
        additionalProperties: { type: "integer" },
      },
      Leave: { title: "Leave", type: "object", properties: { kind: { const: "leave", default: "leave" } } },
      Json: { anyOf: [{ type: "integer" }, { type: "array", items: { $ref: "#/$defs/Json" } }] },
    },
  },
  observation: { type: "object", properties: {} },
  state: { type: "object", properties: {} },
  reset_observation: { type: "object", properties: {} },
} as SchemaBody;

const SHOP = `
import json
from datetime import time, timedelta
from decimal import Decimal

from shop_env import Buy, Leave, ShopAction, ShopEnv


def act(env: ShopEnv, far: bool) -> None:
    env.step(Leave() if far else Buy(price=Decimal(1), lines={}))
    env.step(ShopAction(Leave()))


buy = Buy(
    price=Decimal("1.50"), lines={"4": 1}, wait=timedelta(hours=1), at=time(1, 2), blob=b"abc", data=[1, [2]]
)
price: Decimal = buy.price
numbered = Buy.model_validate({"price": "2", "lines": {4: 1}, "extra": "3"})
read = ShopAction.model_validate({"kind": "leave"})
assert isinstance(read.root, Leave)
dumped = [one.model_dump(mode="json", exclude_unset=True) for one in (buy, numbered, read, ShopAction(Leave()))]
print(json.dumps(dumped))
`;

function packageOf(schemas: SchemaBody, name: string): Record<string, string> {
  const names = parseName(name);
  return renderPythonPackage(readTypes(schemas, names.prefix), names, "openenv-ts");
}

/** mypy reads it, too. */
const script = (boothUrl: string, deskUrl: string): string => `
import asyncio
import json
from collections.abc import Callable
from datetime import datetime

from booth_env import AsyncBoothEnv, BoothAction, BoothEnv, BoothGuessResult, RemoteError, ToolCallError, ToolCallResult
from desk_env import DeskAction, DeskEnv
from openenv_ts import Env


def failure(call: Callable[[], object]) -> Exception:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("no error")


def play(env: BoothEnv) -> list[object]:
    early = failure(lambda: env.step(BoothAction(from_="left")))
    assert isinstance(early, RemoteError)
    env.reset(seed=7)
    moved = env.step(BoothAction(from_="left", far=3))
    when: datetime = moved.observation.when
    [copy] = env.fork(1)
    forked: BoothEnv = copy
    at: int = forked.step(BoothAction(from_="left")).observation.at
    forked.close()
    failed = failure(lambda: env.tools.fail())
    assert isinstance(failed, ToolCallError)
    listed: list[int] = env.tools.look_up().data
    guessed: ToolCallResult[BoothGuessResult] = env.tools.guess(word="crane", class_="c")
    right: bool = guessed.data.right
    return [
        [early.code, early.wire_code],
        [moved.observation.at, moved.reward, moved.metadata["note"], when.year, at],
        [failed.tool_name, failed.error_type, "no luck" in str(failed)],
        [listed, right, json.loads(guessed.data.given), guessed.reward, guessed.done],
        [env.state().lambda_, env.state().step_count],
        [type(failure(lambda: env.tools.guess(word="x", tries=0))).__name__],
        [type(failure(lambda: BoothAction(from_="left", far=0))).__name__],
        isinstance(env, Env),
    ]


async def awaited(env: AsyncBoothEnv) -> list[object]:
    async with env:
        await env.reset()
        at: int = (await env.step(BoothAction(from_="right"))).observation.at
        return [at, (await env.tools.guess(word="crane")).data.right, (await env.state()).step_count]


def main() -> None:
    with BoothEnv.connect("${boothUrl}") as env:
        played = play(env)
    with DeskEnv.connect("${deskUrl}") as desk:
        desk.reset()
        added: int = desk.tools.add(a=1, b=2).data
        stepped = desk.step(DeskAction(type="call_tool", tool_name="add", arguments={"a": 1, "b": 2}))
    told = {
        "played": played,
        "awaited": asyncio.run(awaited(AsyncBoothEnv.connect("${boothUrl}"))),
        "desk": [added, type(stepped.observation).__name__],
    }
    print(json.dumps(told))


main()
`;

const WRONG = `
from booth_env import BoothAction, BoothEnv

env = BoothEnv.connect("http://localhost:8000")
env.step({"from": "left"})
env.step(BoothAction(from_="up"))
env.reset().observation.nothing
env.tools.guess(word=1)
`;

describe.skipIf(!python.available)("the generated Python package on openenv-ts", TIME_LIMIT, () => {
  let told: Record<string, unknown>;
  let strict: string;
  let wrong: string;
  let shopped: unknown;

  beforeAll(async () => {
    await using server = await serve(booth, { port: 0, logLevel: "silent" });
    await using tools = await serve(desk, { port: 0, logLevel: "silent" });
    await using folder = await createPythonFolder({
      ...packageOf(booth.contract.schemas(), "booth-env"),
      ...packageOf(desk.contract.schemas(), "desk-env"),
      ...packageOf(shop, "shop-env"),
      "shop.py": SHOP,
    });
    const text = script(server.url, tools.url);
    await writeFile(join(folder.dir, "play.py"), text);
    await writeFile(join(folder.dir, "wrong.py"), WRONG);
    told = (await folder.run(python.path, text)) as Record<string, unknown>;
    shopped = await folder.run(python.path, SHOP);
    strict = await mypy(folder, "booth_env", "desk_env", "shop_env", "play.py", "shop.py");
    wrong = await mypy(folder, "wrong.py");
  }, TIME_LIMIT.timeout);

  test("plays with classes instead of dictionaries", () => {
    expect(told["played"]).toEqual([
      ["NO_EPISODE", "EXECUTION_ERROR"],
      [3, 1, "hello", 1970, 4],
      ["fail", "execution_error", true],
      [[1, 2], true, { word: "crane", tries: 7, class: "c" }, 2, true],
      [3, 4],
      ["ValidationError"],
      ["ValidationError"],
      true,
    ]);
    expect(told["awaited"]).toEqual([-1, true, 2]);
    expect(told["desk"]).toEqual([3, "DeskObservation"]);
  });

  test("has a class for each variant of an action, whose tag is always sent", () => {
    const bought = { kind: "buy", price: "1.50", lines: { "4": 1 }, wait: "PT1H", at: "01:02:00", blob: "abc" };
    expect(shopped).toEqual([
      { ...bought, data: [1, [2]] },
      { kind: "buy", price: "2", lines: { "4": 1 }, extra: 3 },
      { kind: "leave" },
      { kind: "leave" },
    ]);
  });

  test("has no finding of mypy --strict, which reports a wrong use", () => {
    expect(strict).toMatch(/no issues found in \d+ source files/);
    expect(wrong.match(/wrong\.py:\d+: error/g)).toEqual([5, 6, 7, 8].map((line) => `wrong.py:${line}: error`));
  });
});

async function mypy(folder: PythonFolder, ...sources: string[]): Promise<string> {
  const args = [
    "-m",
    "mypy",
    "--strict",
    "--python-version",
    "3.10",
    "--cache-dir",
    join(folder.dir, ".mypy"),
    ...sources,
  ];
  return promisify(execFile)(python.path, args, { cwd: folder.dir }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
}
