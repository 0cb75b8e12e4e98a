/** Clients generated from random actions send every variant to a server of the Python package. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { createPythonFolder, type PythonFolder } from "../../../../test-support/commands/python-package.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { requirePython, requirePythonPackage } from "../../../../test-support/requirement.js";
import { type RandomAction, randomAction } from "../../../../test-support/schemas/random-actions.js";
import type { SchemaBody } from "../../../openenv/src/protocol/http.js";
import { parseName } from "../project/names.js";
import { renderPythonPackage } from "./python/python-package.js";
import { readTypes } from "./read-types.js";
import { renderTypeScriptPackage } from "./typescript/typescript-package.js";

const python = await requirePython();
const pythonPackage = await requirePythonPackage();
const LIMIT = { timeout: 600_000 };
const LIBRARY = join(import.meta.dirname, "../../../openenv/dist/client");
const TSC = join(import.meta.dirname, "../../../../node_modules/typescript/bin/tsc");
const COUNT = 200;
/** Another one each time; a failure names it. `FC_SEED` repeats a run. */
const SEED = Number(process.env["FC_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

const actions = fc.sample(randomAction, { seed: SEED, numRuns: COUNT });
const names = actions.map((_, i) => parseName(`game-n${i}`));

/** The server: one environment for each action, which returns what it understood. */
const SERVER = `
import importlib, sys
import uvicorn
from fastapi import FastAPI
from openenv.core.env_server import Environment, Observation, State, create_fastapi_app
from typing import Any

class Seen(Observation):
    seen: Any = None

class Echo(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    def __init__(self):
        super().__init__()
        self._state = State()
    @property
    def state(self):
        return self._state
    def reset(self, seed=None, episode_id=None):
        return Seen()
    def step(self, action):
        return Seen(seen=[type(action.root).__name__, action.model_dump(mode="json", by_alias=True)])

app = FastAPI()
for i in range(${COUNT}):
    action = importlib.import_module(f"actions.a{i}").TheAction
    app.mount(f"/{i}", create_fastapi_app(Echo, action, Seen, max_concurrent_envs=8))
print("serving", flush=True)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
`;

/** What the server understood of each value, sent as an instance of the class of its variant. */
const client = (url: string, open: string): string => `
import importlib, json
cases = json.load(open("cases.json"))
told = []
for i, variants in enumerate(cases):
    package = importlib.import_module(f"game_n{i}")
    answers = []
    try:
        with ${open.replace("URL", `f"${url}/{i}"`)} as env:
            env.reset()
            for variant in variants:
                for value in variant["values"]:
                    action = getattr(package, variant["className"])(**value)
                    answers.append(env.step(action).observation.seen)
    except Exception as error:
        answers.append(f"{type(error).__name__}: {error}"[:2000])
    told.append(answers)
print(json.dumps(told))
`;

let url: string;
let server: { [Symbol.asyncDispose](): Promise<void> };
let schemas: SchemaBody[];
let project: Project;
let folder: PythonFolder;

describe.skipIf(!python.available)(`generated clients of ${COUNT} random actions, FC_SEED=${SEED}`, LIMIT, () => {
  beforeAll(async () => {
    const sources = actions.map(({ source }, i) => [`actions/a${i}.py`, source]);
    folder = await createPythonFolder({
      ...Object.fromEntries(sources),
      "serve.py": SERVER,
      "actions/__init__.py": "",
    });
    ({ url, server } = await startServer(folder.dir));
    schemas = [];
    for (const i of actions.keys()) schemas.push((await (await fetch(`${url}/${i}/schema`)).json()) as SchemaBody);
    project = await createProject(renderTypeScript());
  }, LIMIT.timeout);

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await Promise.all([project?.[Symbol.asyncDispose](), folder?.[Symbol.asyncDispose]()]);
  });

  test("send every variant from TypeScript, whose types accept it", LIMIT, async () => {
    const options = ["--noEmit", "--ignoreConfig", "--strict", "--module", "nodenext", "--target", "es2023"];
    const checked = await promisify(execFile)(
      process.execPath,
      [TSC, ...options, "--types", "node", ...actions.map((_, i) => `c${i}/check.mts`)],
      { cwd: project.dir, maxBuffer: 2 ** 26 },
    ).catch((error: { stdout: string }) => error);
    expect(checked.stdout.slice(0, 5_000)).toBe("");
    await understoodByTypeScript();
  });

  for (const [base, { available, path }, open] of [
    ["openenv", python, 'getattr(package, f"GameN{i}Env")(base_url=URL).sync()'],
    ["openenv-ts", pythonPackage, 'getattr(package, f"GameN{i}Env").connect(URL)'],
  ] as const) {
    test.skipIf(!available)(`send every variant from Python, on ${base}`, LIMIT, async () => {
      const packages = schemas.flatMap((body, i) => {
        const name = names[i] as (typeof names)[number];
        return Object.entries(renderPythonPackage(readTypes(body, name.prefix), name, base));
      });
      const cases = actions.map(({ variants }) =>
        variants.map(({ className, values }) => ({ className: classNameOf(className), values })),
      );
      await using clients = await createPythonFolder({
        ...Object.fromEntries(packages),
        "cases.json": JSON.stringify(cases),
      });
      const told = (await clients.run(path, client(url, open))) as unknown[][];
      const expected = await understoodByTypeScript();
      for (const [i, action] of actions.entries()) {
        expect(told[i], `FC_SEED=${SEED}, action ${i}:\n${action.source}`).toEqual(expected[i]);
      }
    });
  }
});

/** What the server understood of each value, sent by the generated clients for TypeScript. */
async function understoodByTypeScript(): Promise<unknown[][]> {
  const told: unknown[][] = [];
  for (const [i, action] of actions.entries()) {
    const module = (await import(pathToFileURL(join(project.dir, `c${i}/index.js`)).href)) as Record<string, Client>;
    const env = await (module[`GameN${i}Env`] as Client).connect(`${url}/${i}`);
    const where = `FC_SEED=${SEED}, action ${i}:\n${action.source}`;
    await env.reset();
    const seen: unknown[] = [];
    for (const { className, value } of valuesOf(action)) {
      const { observation } = await env
        .step(value)
        .catch((error: Error) => ({ observation: { seen: [error.message] } }));
      expect(observation.seen[0], `${where}\n${JSON.stringify(value)}`).toBe(`${className}_`);
      seen.push(observation.seen);
    }
    told.push(seen);
    await env.close();
  }
  return told;
}

interface Client {
  connect(url: string): Promise<{
    reset(): Promise<unknown>;
    step(action: unknown): Promise<{ observation: { seen: unknown[] } }>;
    close(): Promise<void>;
  }>;
}

function valuesOf({ variants }: RandomAction): { className: string; value: object }[] {
  return variants.flatMap(({ className, tag, values }) =>
    values.map((value) => ({ className, value: { ...(tag && { [tag.name]: tag.value }), ...value } })),
  );
}

/** A class whose name is that of a base class gets a number. */
function classNameOf(title: string): string {
  return ["Action", "Observation", "Field", "Date"].includes(title) ? `${title}2` : title;
}

function renderTypeScript(): Record<string, string> {
  const files = schemas.flatMap((body, i) => {
    const name = names[i] as (typeof names)[number];
    const rendered = renderTypeScriptPackage(readTypes(body, name.prefix), body, { names: name, library: LIBRARY });
    const values = valuesOf(actions[i] as RandomAction).map(({ value }, at) => {
      return `export const v${at}: ${name.prefix}Action = ${JSON.stringify(value)};\n`;
    });
    const check = `import type { ${name.prefix}Action } from "./index.js";
${values.join("")}// @ts-expect-error The type of an action is not empty.
export const wrong: ${name.prefix}Action = { nothing: 1 };
`;
    return Object.entries({ ...rendered, "check.mts": check }).map(([path, text]) => [`c${i}/${path}`, text]);
  });
  return Object.fromEntries(files) as Record<string, string>;
}

async function startServer(dir: string) {
  const port = await findFreePort();
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ENABLE_WEB_INTERFACE: "false" };
  const child = spawn(python.path, ["serve.py", String(port)], { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const url = `http://127.0.0.1:${port}`;
  const ended = once(child, "exit");
  const server = {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
  await vi.waitFor(
    async () => {
      if (child.exitCode === null) return expect((await fetch(`${url}/0/schema`)).ok).toBe(true);
    },
    { timeout: LIMIT.timeout, interval: 200 },
  );
  if (child.exitCode !== null) throw new Error(`the server ended:\n${output}`);
  return { url, server };
}
