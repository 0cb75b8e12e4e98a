/** Clients generated from random actions send every variant to servers of the Python package and of openenv-ts. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { createPythonFolder } from "../../../../test-support/commands/python-package.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { requirePython, requirePythonPackage } from "../../../../test-support/requirement.js";
import { type RandomAction, randomAction } from "../../../../test-support/schemas/random-actions.js";
import { randomContract } from "../../../../test-support/schemas/random-contract.js";
import { defineContract } from "../../../openenv/src/contract/contract.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import type { SchemaBody } from "../../../openenv/src/protocol/http.js";
import { serve } from "../../../openenv/src/serve.js";
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

const names = Array.from({ length: COUNT }, (_, i) => parseName(`game-n${i}`));

interface Case {
  url: string;
  schemas: SchemaBody;
  variants: RandomAction["variants"];
  /** The source of the environment, for failures. */
  source: string;
}

interface Started {
  cases: Case[];
  [Symbol.asyncDispose](): Promise<void>;
}

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
const client = (open: string): string => `
import importlib, json
cases = json.load(open("cases.json"))
told = []
for i, case in enumerate(cases):
    package = importlib.import_module(f"game_n{i}")
    answers = []
    try:
        with ${open} as env:
            env.reset()
            for variant in case["variants"]:
                for value in variant["values"]:
                    action = getattr(package, variant["className"])(**value)
                    answers.append(env.step(action).observation.seen)
    except Exception as error:
        answers.append(f"{type(error).__name__}: {error}"[:2000])
    told.append(answers)
print(json.dumps(told))
`;

const SERVERS = {
  "the Python package": [startPython, (seen: unknown) => (seen as unknown[])[0], ({ className }) => `${className}_`],
  "openenv-ts": [startTypeScript, (seen: unknown) => seen, ({ value }) => expect.objectContaining(value)],
} as const satisfies Record<string, [() => Promise<Started>, (seen: unknown) => unknown, (sent: Sent) => unknown]>;

for (const [name, [start, what, understood]] of Object.entries(SERVERS)) {
  describe.skipIf(!python.available)(`generated clients of ${COUNT} random actions, FC_SEED=${SEED}`, LIMIT, () => {
    let started: Started;
    let project: Project;
    /** What the server understood of the values that the clients for TypeScript sent. */
    const expected: unknown[][] = [];

    beforeAll(async () => {
      started = await start();
      project = await createProject(renderTypeScript(started.cases));
      for (const [i, given] of started.cases.entries()) {
        const module = (await import(pathToFileURL(join(project.dir, `c${i}/index.js`)).href)) as Record<
          string,
          Client
        >;
        expected.push(await playTypeScript(module[`GameN${i}Env`] as Client, given));
      }
    }, LIMIT.timeout);

    afterAll(async () => {
      await started?.[Symbol.asyncDispose]();
      await project?.[Symbol.asyncDispose]();
    });

    test(`send every variant from TypeScript to ${name}, and their types accept it`, LIMIT, async () => {
      for (const [i, given] of started.cases.entries()) {
        const seen = expected[i]?.map(what);
        expect(seen, describeCase(given, i)).toEqual(sentBy(given).map(understood));
      }
      const options = ["--noEmit", "--ignoreConfig", "--strict", "--module", "nodenext", "--target", "es2023"];
      const checked = await promisify(execFile)(
        process.execPath,
        [TSC, ...options, "--types", "node", ...started.cases.map((_, i) => `c${i}/check.mts`)],
        { cwd: project.dir, maxBuffer: 2 ** 26 },
      ).catch((error: { stdout: string }) => error);
      expect(checked.stdout.slice(0, 5_000)).toBe("");
    });

    for (const [base, { available, path }, open] of [
      ["openenv", python, 'getattr(package, f"GameN{i}Env")(base_url=case["url"]).sync()'],
      ["openenv-ts", pythonPackage, 'getattr(package, f"GameN{i}Env").connect(case["url"])'],
    ] as const) {
      test.skipIf(!available)(`send every variant from Python, on ${base}, to ${name}`, LIMIT, async () => {
        const packages = started.cases.flatMap(({ schemas }, i) => {
          const name = names[i] as (typeof names)[number];
          return Object.entries(renderPythonPackage(readTypes(schemas, name.prefix), name, base));
        });
        const cases = started.cases.map(({ url, variants }) => ({
          url,
          variants: variants.map(({ className, values }) => ({ className: classNameOf(className), values })),
        }));
        await using clients = await createPythonFolder({
          ...Object.fromEntries(packages),
          "cases.json": JSON.stringify(cases),
        });
        const told = (await clients.run(path, client(open))) as unknown[][];
        for (const [i, given] of started.cases.entries()) expect(told[i], describeCase(given, i)).toEqual(expected[i]);
      });
    }
  });
}

async function playTypeScript(client: Client, given: Case): Promise<unknown[]> {
  const env = await client.connect(given.url);
  await env.reset();
  const seen: unknown[] = [];
  for (const { value } of sentBy(given)) {
    const answer = await env.step(value).catch((error: Error) => ({ observation: { seen: [error.message] } }));
    seen.push(answer.observation.seen);
  }
  await env.close();
  return seen;
}

interface Client {
  connect(url: string): Promise<{
    reset(): Promise<unknown>;
    step(action: unknown): Promise<{ observation: { seen: unknown } }>;
    close(): Promise<void>;
  }>;
}

interface Sent {
  className: string;
  value: object;
}

function sentBy({ variants }: Case): Sent[] {
  return variants.flatMap(({ className, tag, values }) =>
    values.map((value) => ({ className, value: { ...tag, ...value } })),
  );
}

function describeCase({ source }: Case, i: number): string {
  return `FC_SEED=${SEED}, action ${i}:\n${source}`;
}

/** A class whose name is that of a base class gets a number. */
function classNameOf(title: string): string {
  return ["Action", "Observation", "Field", "Date"].includes(title) ? `${title}2` : title;
}

function renderTypeScript(cases: readonly Case[]): Record<string, string> {
  const files = cases.flatMap((given, i) => {
    const name = names[i] as (typeof names)[number];
    const types = readTypes(given.schemas, name.prefix);
    const rendered = renderTypeScriptPackage(types, given.schemas, { names: name, library: LIBRARY });
    const values = sentBy(given).map(({ value }, at) => {
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

/** A server for each action, all in this process. */
async function startTypeScript(): Promise<Started> {
  const servers: Awaited<ReturnType<typeof serve>>[] = [];
  const cases: Case[] = [];
  for (const { action, variants } of fc.sample(randomContract, { seed: SEED, numRuns: COUNT })) {
    const observation = z.object({ seen: z.unknown() });
    const contract = defineContract({ name: `game_n${cases.length}`, action, observation });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: { seen: null } }),
      step: (seen) => ({ observation: { seen } }),
    }));
    const server = await serve(environment, { port: 0, logLevel: "silent" });
    servers.push(server);
    const schemas = contract.schemas();
    cases.push({ url: server.url, schemas, variants, source: JSON.stringify(schemas.action) });
  }
  const close = () => Promise.all(servers.map((server) => server.close()));
  return { cases, [Symbol.asyncDispose]: async () => void (await close()) };
}

/** All actions in one process, each below its own path. */
async function startPython(): Promise<Started> {
  const actions = fc.sample(randomAction, { seed: SEED, numRuns: COUNT });
  const sources = actions.map(({ source }, i) => [`actions/a${i}.py`, source]);
  const folder = await createPythonFolder({
    ...Object.fromEntries(sources),
    "serve.py": SERVER,
    "actions/__init__.py": "",
  });
  const port = await findFreePort();
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ENABLE_WEB_INTERFACE: "false" };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const child = spawn(python.path, ["serve.py", String(port)], { cwd: folder.dir, env, stdio: [...stdio] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
  const url = `http://127.0.0.1:${port}`;
  const ended = once(child, "exit");
  await vi.waitFor(
    async () => {
      if (child.exitCode === null) return expect((await fetch(`${url}/0/schema`)).ok).toBe(true);
    },
    { timeout: LIMIT.timeout, interval: 200 },
  );
  if (child.exitCode !== null) throw new Error(`the server ended:\n${output}`);
  const cases: Case[] = [];
  for (const [i, { source, variants }] of actions.entries()) {
    const schemas = (await (await fetch(`${url}/${i}/schema`)).json()) as SchemaBody;
    cases.push({ url: `${url}/${i}`, schemas, variants, source });
  }
  return {
    cases,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
      await folder[Symbol.asyncDispose]();
    },
  };
}
