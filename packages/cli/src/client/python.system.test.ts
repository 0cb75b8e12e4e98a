/** The generated Python package with the released Python client, against our server. */
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { createPythonFolder } from "../../../../test-support/commands/python-package.js";
import { requirePython } from "../../../../test-support/requirement.js";
import { defineContract } from "../../../openenv/src/contract/contract.js";
import { datetime } from "../../../openenv/src/contract/fields.js";
import { defineTools } from "../../../openenv/src/contract/tools/tools.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import type { SchemaBody } from "../../../openenv/src/protocol/http.js";
import { serve } from "../../../openenv/src/serve.js";
import { parseName } from "../project/names.js";
import { renderPythonPackage } from "./python/python-package.js";
import { readTypes } from "./read-types.js";

const python = await requirePython();
const TIME_LIMIT = { timeout: 300_000 };

const point = z.object({ x: z.number(), y: z.number().nullable() });
const tree = z.object({
  label: z.string(),
  get children() {
    return z.array(tree).default([]);
  },
});

/** Every kind of field, and every name that Python, pydantic or the module uses. */
const odd = defineContract({
  name: "odd_env",
  description: 'Says """odd\\ things.',
  action: z.object({
    from: z.string().describe('A "keyword" of \\Python'),
    "my-field": z.int().min(1).max(5).default(3),
    "1st": z.string().optional(),
    _hidden: z.string().optional(),
    json: z.string().optional(),
    model_dump: z.string().optional(),
    str: z.string().optional(),
    class_: z.string().optional(),
    class: z.string().optional(),
    level: z.enum(["low", "high"]).default("low"),
    either: z.union([z.int(), z.string()]),
    maybe: z.number().nullable().default(null),
    point,
    line: z.array(point).min(1),
    pair: z.tuple([z.int(), z.string()]),
    scores: z.record(z.string(), z.number()),
    shape: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("circle"), radius: z.number() }),
      z.object({ kind: z.literal("square"), side: z.number() }),
    ]),
    when: datetime().optional(),
    tree: tree.optional(),
    anything: z.unknown().optional(),
  }),
  observation: z.object({
    seen: z.unknown(),
    Any: z.int().default(1),
    point: point.default({ x: 0, y: null }),
    when: datetime().default(() => new Date("2026-01-02T03:04:05Z")),
    tree,
    validate: z.boolean(),
    ratio: z.union([z.literal(0.5), z.literal(1)]),
    "": z.string().default(""),
  }),
  state: z.object({ lambda: z.int(), points: z.array(point) }),
});

const environment = defineEnvironment(odd, () => {
  const answer = (seen: unknown) => ({
    observation: { seen, tree: { label: "root", children: [{ label: "leaf" }] }, validate: true, ratio: 0.5 as const },
    reward: 1,
  });
  return {
    reset: () => ({ ...answer("nothing"), metadata: { note: "hello" } }),
    step: (action) => answer(JSON.parse(JSON.stringify(action))),
    state: () => ({ lambda: 7, points: [{ x: 1, y: 2 }] }),
  };
});

const desk = defineEnvironment(
  defineContract({
    name: "desk",
    tools: defineTools({ add: { description: "Adds.", input: z.object({ a: z.int(), b: z.int() }), output: z.int() } }),
    observation: z.object({ task: z.string() }),
  }),
  () => ({ reset: () => ({ observation: { task: "add" } }), tools: { add: ({ a, b }) => a + b } }),
);

function packageOf(schemas: SchemaBody, name: string): Record<string, string> {
  const names = parseName(name);
  return renderPythonPackage(readTypes(schemas, names.prefix), names, "openenv");
}

const evil = '"""\nimport os\nos._exit(3)\n"""';

/** Schemas of a server that tries to inject code into the generated client. */
function hostileSchemas(): SchemaBody {
  const name = 'x: int = 1\n    import os\n    os._exit(3)\n"""';
  const field = { type: "string", description: evil, default: evil, title: evil };
  const schema = {
    type: "object",
    title: evil,
    description: evil,
    properties: { [name]: field, ok: { enum: [evil] }, ref: { $ref: "#/$defs/a~1b\n" }, loop: { $ref: "#" } },
    $defs: { "a/b\n": { type: "object", properties: { [name]: field }, description: evil } },
  };
  return { action: schema, observation: schema, state: schema, reset_observation: schema };
}

/** Importing the Python package takes seconds, so one process runs everything. */
const script = (oddUrl: string, deskUrl: string): string => `
import json
from datetime import datetime, timezone
from desk import DeskAction, DeskEnv
from evil import EvilAction
from odd_env import *
import odd_env

def refusal(make):
    try:
        make()
    except Exception as error:
        return type(error).__name__

with OddEnv(base_url="${oddUrl}").sync() as env:
    first = env.reset()
    action = OddAction(
        from_="here", my_field=4, field_1st="a", hidden="b", json_="c", model_dump_="d", str_="e", class_="f", class_2="g",
        either="x", point=OddActionPoint(x=1, y=None), line=[OddActionPoint(x=2, y=3)], pair=(1, "one"),
        scores={"a": 0.5}, shape=OddActionShapeSquare(kind="square", side=2), when=datetime(2026, 1, 2, tzinfo=timezone.utc),
        tree={"label": "top", "children": [{"label": "low"}]}, anything=[1, None],
    )
    second = env.step(action)
    state = env.state()

with DeskEnv(base_url="${deskUrl}").sync() as env:
    task = env.reset().observation.task
    called = env.step(DeskAction(type="call_tool", tool_name="add", arguments={"a": 1, "b": 2})).observation

hostile = EvilAction(ok=${JSON.stringify(evil)})
print(json.dumps({
    "names": odd_env.__all__,
    "metadata": [first.metadata, first.observation.metadata],
    "seen": second.observation.seen,
    "answer": [second.reward, second.observation.reward, second.done, second.observation.done],
    "point": second.observation.point.x,
    "when": second.observation.when.isoformat(),
    "leaf": second.observation.tree.children[0].label,
    "renamed": [second.observation.Any_, second.observation.validate_, state.lambda_],
    "state": [type(state).__name__, type(state.points[0]).__name__, state.step_count],
    "refused": [
        refusal(lambda: OddAction(**{**action.model_dump(), "my_field": 6})),
        refusal(lambda: OddAction(**{**action.model_dump(), "level": "middle"})),
        refusal(lambda: OddAction(**{**action.model_dump(), "line": []})),
        refusal(lambda: OddAction(**{**action.model_dump(), "other": 1})),
        refusal(lambda: OddAction(from_="here")),
    ],
    "description": OddAction.model_fields["from_"].description,
    "desk": [task, called.tool_name, called.result["data"]],
    "hostile": [hostile.ok, list(EvilAction.model_fields.values())[1].default],
}))
`;

describe.skipIf(!python.available)("the generated Python package", TIME_LIMIT, () => {
  let told: Record<string, unknown>;
  beforeAll(async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    await using tools = await serve(desk, { port: 0, logLevel: "silent" });
    await using folder = await createPythonFolder({
      ...packageOf(odd.schemas(), "odd-env"),
      ...packageOf(desk.contract.schemas(), "desk"),
      ...packageOf(hostileSchemas(), "evil"),
    });
    told = (await folder.run(python.path, script(server.url, tools.url))) as Record<string, unknown>;
  }, TIME_LIMIT.timeout);

  test("has every kind of field with a valid Python name, and sends the original name", () => {
    expect(told["names"]).toEqual(
      expect.arrayContaining(["OddAction", "OddActionPoint", "OddEnv", "OddObservation", "OddState"]),
    );
    expect(told["seen"]).toEqual({
      from: "here",
      "my-field": 4,
      "1st": "a",
      _hidden: "b",
      json: "c",
      model_dump: "d",
      str: "e",
      class_: "f",
      class: "g",
      level: "low",
      either: "x",
      maybe: null,
      point: { x: 1, y: null },
      line: [{ x: 2, y: 3 }],
      pair: [1, "one"],
      scores: { a: 0.5 },
      shape: { kind: "square", side: 2 },
      when: "2026-01-02T00:00:00.000Z",
      tree: { label: "top", children: [{ label: "low", children: [] }] },
      anything: [1, null],
    });
    expect(told["renamed"]).toEqual([1, true, 7]);
    expect(told["description"]).toBe('A "keyword" of \\Python');
  });

  test("parses observations and states into classes", () => {
    expect(told["answer"]).toEqual([1, 1, false, false]);
    expect(told["metadata"]).toEqual([{ note: "hello" }, { note: "hello" }]);
    expect(told["point"]).toBe(0);
    expect(told["when"]).toBe("2026-01-02T03:04:05+00:00");
    expect(told["leaf"]).toBe("leaf");
    expect(told["state"]).toEqual(["OddState", "OddStatePointsItem", 1]);
  });

  test("rejects an invalid action before it is sent", () => {
    expect(told["refused"]).toEqual(Array.from({ length: 5 }, () => "ValidationError"));
  });

  test("has one observation class when reset and step return different ones", () => {
    expect(told["desk"]).toEqual(["add", "add", 3]);
  });

  test("of a hostile schema contains none of its code", () => {
    expect(told["hostile"]).toEqual([evil, evil]);
  });
});
