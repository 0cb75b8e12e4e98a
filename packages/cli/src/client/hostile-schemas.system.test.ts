/** Clients generated from hostile schemas must compile, whatever the names in a schema. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { ConfigError } from "openenv-ts/internal";
import { describe, expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { createPythonFolder } from "../../../../test-support/commands/python-package.js";
import { requirePython, requirePythonPackage } from "../../../../test-support/requirement.js";
import type { SchemaBody } from "../../../openenv/src/protocol/http.js";
import { parseName } from "../project/names.js";
import { renderPythonPackage } from "./python/python-package.js";
import { readTypes } from "./read-types.js";
import type { ClientTypes } from "./types.js";
import { renderTypeScriptPackage } from "./typescript/typescript-package.js";

const python = await requirePython();
const pythonPackage = await requirePythonPackage();
const LIMIT = { timeout: 280_000 };
const TSC = join(import.meta.dirname, "../../../../node_modules/typescript/bin/tsc");

/** Names that generated files use, names of the languages, and text that ends a string, a comment or a file. */
const NAMES = [
  ..."Action Any Array BaseModel ConfigDict ConnectOptions EnvClient Field Literal None Observation Promise".split(" "),
  ..."Record SchemaContract State StepResult String URL UUID z type Type Object Function HostileEnv".split(" "),
  ..."HostileAction class model_config model_dump json copy self date datetime float list lambda new get".split(" "),
  ...[
    "__proto__",
    "constructor",
    "UNSET",
    "call",
    "env",
    "tools",
    "sync",
    "ToolCallResult",
    "T",
    "staticmethod",
    "",
    "1",
    "_",
    "\\",
    '"',
    '"""',
    "'''",
    "*/",
    "x\ny",
    "\u2028",
    "\u0000",
    "a b",
    "é",
  ],
  ...["\ud800", "x\udfff", "\u202e", "$" + "{x}", "`"],
];
const NUMBERS = [Infinity, -Infinity, -1, 0.5, 1e21, -1e21, 2 ** 53, 3];
const DEEP: unknown = JSON.parse("[".repeat(240) + "]".repeat(240));

/** The reference to a definition, whose name may have the characters of a pointer. */
const referenceTo = (definition: string): string =>
  `#/$defs/${definition.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("%", "%25")}`;

const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: "binary", maxLength: 6 }));
const scalar = fc.oneof(fc.constantFrom<unknown>(...NUMBERS, null, true, false), name);
const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.constant(DEEP), fc.dictionary(name, scalar));
const limits = fc.dictionary(
  fc.constantFrom("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "minLength", "maxLength", "minItems"),
  fc.constantFrom<unknown>(...NUMBERS, "3", null),
  { maxKeys: 3 },
);
const notes = fc.record({ description: name, title: name, default: value }, { requiredKeys: [] });

const { schema } = fc.letrec<{ schema: object; object: object }>((tie) => ({
  schema: fc
    .tuple(
      notes,
      limits,
      fc.oneof(
        { maxDepth: 3 },
        fc.record({ type: fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "elephant") }),
        fc.record({ enum: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
        fc.record({ const: scalar }),
        fc.record({ type: fc.constant("string"), format: fc.constantFrom("date-time", "date", "uuid") }),
        fc.record({ $ref: name.map(referenceTo) }),
        fc.record({ type: fc.constant("array"), items: tie("schema") }),
        fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        tie("object"),
      ),
    )
    .map((parts): object => Object.assign({}, ...parts)),
  object: fc.record({
    type: fc.constant("object"),
    properties: fc.dictionary(name, tie("schema"), { maxKeys: 4 }),
    required: fc.array(name, { maxLength: 2 }),
    additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
  }),
}));

const root = fc
  .record({
    properties: fc.dictionary(name, schema, { maxKeys: 6 }),
    defs: fc.dictionary(name, fc.record({ properties: fc.dictionary(name, schema, { minKeys: 1, maxKeys: 3 }) })),
    title: name,
    description: name,
  })
  .map(({ properties, defs, ...rest }) => ({
    type: "object",
    ...rest,
    properties,
    $defs: Object.fromEntries(Object.entries(defs).map(([key, def]) => [key, { type: "object", ...def }])),
  }));

/** A class for every name that a generated file uses, and every limit that a class cannot have. */
const all = {
  type: "object",
  properties: {
    ...Object.fromEntries(NAMES.map((text) => [text, { $ref: referenceTo(text) }])),
    ...Object.fromEntries(
      NUMBERS.flatMap((number, i) => [
        [
          `text${i}`,
          { type: "string", minLength: number, maxLength: number, description: "\ud800", default: "\udc00" },
        ],
        [`integer${i}`, { type: "integer", minimum: number, exclusiveMaximum: number, default: number }],
        [`number${i}`, { type: "number", minimum: number, exclusiveMaximum: number, default: [number] }],
        [`choice${i}`, { enum: [Number.isFinite(number) ? number : 0, "\ud800", null] }],
      ]),
    ),
    deep: { type: "array", default: DEEP },
  },
  $defs: Object.fromEntries(
    NAMES.map((text, i) => [text, { type: "object", properties: { [text]: { type: "string" }, [`own${i}`]: {} } }]),
  ),
};

const names = parseName("hostile");
const LIBRARY = join(import.meta.dirname, "../../../openenv/dist/client");
/** A tool for each name, the first with every kind of argument and result. */
const tools = [...NAMES, ...NAMES].map((name, i) => ({
  name,
  description: NAMES.at(-1 - (i % NAMES.length)),
  input_schema: i === 0 ? all : { properties: { [name]: { type: "string" } }, required: [name] },
  output_schema: i === 0 ? all : { properties: { result: { enum: [name, "a"] } }, "x-fastmcp-wrap-result": true },
}));
const bodyOf = (given: object) =>
  ({
    action: given,
    observation: given,
    state: given,
    reset_observation: given,
  }) as SchemaBody;
const read = (body: SchemaBody): ClientTypes => readTypes(body, names.prefix);
const samples = fc.sample(root, { seed: 16, numRuns: 200 }).map(bodyOf);
/** Others have a field whose type cannot be expressed. */
const bodies = [{ ...bodyOf(all), tools } as SchemaBody, ...samples.filter((body) => problemOf(body) === undefined)];

function problemOf(body: SchemaBody): string | undefined {
  try {
    read(body);
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}

test("a field that cannot be expressed is named", () => {
  const problems = samples.map(problemOf).filter((problem) => problem !== undefined);
  expect([problems.length, bodies.length].map((count) => count > 40)).toEqual([true, true]);
  for (const problem of problems) expect(problem).toMatch(/^action\..+, which a generated client cannot express\./s);
});

describe("a client of hostile schemas", () => {
  test("type-checks in TypeScript, and has the same schemas", LIMIT, async () => {
    const files = bodies.flatMap((body, i) =>
      Object.entries(renderTypeScriptPackage(read(body), body, { names, library: LIBRARY })).map(([path, text]) => [
        `c${i}/${path}`,
        text,
      ]),
    );
    await using project = await createProject(Object.fromEntries(files) as Record<string, string>);
    const entries = bodies.map((_, i) => `c${i}/index.d.ts`);
    const options = [
      "--noEmit",
      "--ignoreConfig",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--types",
      "node",
    ];
    const { stdout } = await promisify(execFile)(process.execPath, [TSC, ...options, ...entries], {
      cwd: project.dir,
    }).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
    const code = String(files[0]?.[1]).replaceAll(/^(?:import|export) .*$/gm, "");
    expect(new Function(`${code}; return schemas;`)()).toEqual(bodies[0]);
  });

  for (const [base, { available, path: interpreter }] of [
    ["openenv", python],
    ["openenv-ts", pythonPackage],
  ] as const) {
    test.skipIf(!available)(`compiles and can be imported in Python, on ${base}`, LIMIT, async () => {
      const files = bodies.flatMap((body, i) =>
        Object.entries(renderPythonPackage(read(body), names, base)).map(([path, text]) => [
          path.replace("hostile/", `hostile${i}/`),
          text,
        ]),
      );
      await using folder = await createPythonFolder(Object.fromEntries(files) as Record<string, string>);
      expect(await folder.run(interpreter, IMPORT_ALL)).toEqual([]);
    });
  }
});

/** Prints why packages cannot be imported, or their models cannot be built. */
const IMPORT_ALL = `
import importlib, json
failures = []
for i in range(${bodies.length}):
    try:
        package = importlib.import_module(f"hostile{i}")
        for name in package.__all__:
            if hasattr(getattr(package, name), "model_rebuild"):
                getattr(package, name).model_rebuild()
    except BaseException as error:
        failures.append(f"{i} {type(error).__name__}: {error}"[:600])
print(json.dumps(failures))
`;
