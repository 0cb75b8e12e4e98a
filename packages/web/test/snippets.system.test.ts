import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { defineContract, defineEnvironment, type EnvironmentDefinition } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import benchmark from "../../../envs/benchmark/server/environment.js";
import echo from "../../../envs/echo/server/environment.js";
import wordle from "../../../envs/wordle/server/environment.js";
import { createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { defineDesk } from "../../../test-support/environments/tool-environment.js";
import { requireCurl, requirePython } from "../../../test-support/requirement.js";
import type { SchemaBody } from "../../openenv/src/protocol/http.js";
import type { WebInfo } from "../../openenv/src/protocol/web.js";
import { EMPTY_TIMELINE } from "../src/play/timeline.js";
import { fitsSchema, sampleAction, sampleReset } from "../src/views/about/sample.js";
import { renderSnippets, type Snippet, type SnippetOptions } from "../src/views/about/snippets.js";
import zoo from "./zoo.js";

const python = await requirePython();
const curl = await requireCurl();
const run = promisify(execFile);
/** Each test starts processes. */
const LIMIT = { timeout: 90_000 };
const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

async function start(environment: unknown, options: Parameters<typeof serve>[1] = {}): Promise<{ url: string }> {
  const server = await serve(environment as EnvironmentDefinition, { port: 0, logLevel: "silent", ...options });
  running.push(server);
  return server;
}

const action = z.object({
  steps: z
    .array(
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("go"), by: z.int().min(2) }),
        z.object({ kind: z.literal("stop") }),
      ]),
    )
    .min(1),
  guess: z.string().regex(/^\[[a-z]{5}\]$/),
  mail: z.email(),
  either: z.union([z.object({ deep: z.array(z.string()).min(1) }), z.string()]),
});
/** Nothing may be left out, and little fits. */
const strict = defineEnvironment(
  defineContract({ name: "strict_env", action, observation: z.object({ received: action.nullable() }) }),
  () => ({
    reset: () => ({ observation: { received: null } }),
    step: (received) => ({ observation: { received } }),
  }),
);

/** With what each one's observation of the step must tell. */
const ENVIRONMENTS: [string, unknown, RegExp][] = [
  ["echo", echo, /hello/],
  ["benchmark", benchmark, /session_hash/],
  ["wordle", wordle, /C R A N E/],
  ["a counter with reset options", defineCounter().environment, /count\W+1\b/],
  ["tools only", defineDesk().environment, /\b2\b/],
  ["a schema of every kind", zoo, /received/],
  ["what has to be filled in, of every kind", strict, /received/],
];
/** Texts that could break out of their quotes, in any of the languages. */
const NASTY = `it's "$(id)" \`id\` \${1} \\ %s\n'''\t<b> é 😀 \u2028`;

async function snippetOf(name: Snippet["name"], url: string, change: Partial<SnippetOptions> = {}): Promise<string> {
  const info = (await (await fetch(`${url}/web/info`)).json()) as WebInfo;
  const schema = (await (await fetch(`${url}/schema`)).json()) as SchemaBody;
  const action = sampleAction(info, schema, EMPTY_TIMELINE);
  const snippets = renderSnippets({
    url,
    name: info.name,
    action,
    fits: fitsSchema(schema, action),
    reset: sampleReset(info),
    mode: info.mode,
    guarded: info.guarded,
    spaceId: info.space_id,
    ...change,
  });
  return snippets.find((snippet) => snippet.name === name)?.code ?? "";
}

async function runTypeScript(code: string, env: Record<string, string> = {}): Promise<string> {
  await using project = await createProject({ "play.ts": code });
  await using command = startCommand(["run", "play.ts"], { cwd: project.dir, env });
  expect([await command.exited, command.stderr]).toEqual([0, ""]);
  return command.stdout;
}

describe("the TypeScript snippet", LIMIT, () => {
  test.each(ENVIRONMENTS)("plays %s", async (_name, environment, told) => {
    const { url } = await start(environment);
    expect(await runTypeScript(await snippetOf("typescript", url))).toMatch(told);
  });

  test("sends whatever was sent last, to the letter", async () => {
    const { url } = await start(echo);
    const output = await runTypeScript(await snippetOf("typescript", url, { action: { message: NASTY } }));
    expect(output).toContain("😀");
  });

  test("brings the orchestrator's token where one is asked for", async () => {
    const options = { mode: "production", webInterface: true, orchestratorToken: "drive" } as const;
    const { url } = await start(defineCounter().environment, options);
    const code = await snippetOf("typescript", url);
    expect(code).not.toContain("drive");
    expect(await runTypeScript(code, { OPENENV_ORCHESTRATOR_TOKEN: "drive" })).toMatch(/count\W+1\b/);
  });
});

/** Starts Python once, which takes long: each snippet is run on its own in it. */
const RUN_ALL = `
import json, sys
for code in json.load(sys.stdin):
    exec(compile(code, "snippet", "exec"), {"__name__": "__main__"})
    print("END OF SNIPPET")
`;

describe.skipIf(!python.available)("the Python snippet", () => {
  test("plays every kind of environment, and sends whatever was sent last, to the letter", async () => {
    const codes: string[] = [];
    for (const [, environment] of ENVIRONMENTS) codes.push(await snippetOf("python", (await start(environment)).url));
    const action = { message: NASTY, metadata: { a: true, b: null, c: [1.5] } };
    const echoed = await snippetOf("python", (await start(echo)).url, { action });
    codes.push(`${echoed}    assert result.observation["echoed_message"] == ${JSON.stringify(NASTY)}\n`);
    const asked = run(python.path, ["-c", RUN_ALL]);
    asked.child.stdin?.end(JSON.stringify(codes));
    const outputs = (await asked).stdout.split("END OF SNIPPET");
    expect(outputs).toHaveLength(codes.length + 1);
    for (const [at, [name, , told]] of ENVIRONMENTS.entries()) expect(`${name}: ${outputs[at]}`).toMatch(told);
    expect(outputs[ENVIRONMENTS.length]).toContain("😀");
  }, 180_000);
});

describe.skipIf(!curl.available)("the curl snippet", LIMIT, () => {
  test.each(ENVIRONMENTS)("plays %s", async (_name, environment, told) => {
    const { url } = await start(environment);
    const { stdout } = await run("bash", ["-euc", await snippetOf("curl", url)]);
    expect(stdout).toMatch(told);
    expect(stdout).toMatch(/"step_count":1/);
  });

  test("sends whatever was sent last, to the letter", async () => {
    const { url } = await start(echo);
    const { stdout } = await run("bash", ["-euc", await snippetOf("curl", url, { action: { message: NASTY } })]);
    expect(stdout).toContain(JSON.stringify(NASTY).slice(1, -1));
  });

  test("asks in production only what is there", async () => {
    const { url } = await start(defineCounter().environment, { mode: "production", webInterface: true });
    const { stdout } = await run("bash", ["-euc", await snippetOf("curl", url)]);
    expect(stdout).toMatch(/healthy[\s\S]*counter_env[\s\S]*"amount"/);
  });
});
