import { hostname } from "node:os";
import { join } from "node:path";
import { connect } from "openenv-ts/client";
import { describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../../test-support/free-port.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

const BENCHMARK = join(import.meta.dirname, "../../../../envs/benchmark");
const URL_LINE = /at (http:\/\/127\.0\.0\.1:(\d+))/;
/** What a step adds is a variable. */
const module = counterModule("amount * Number(process.env.FACTOR)");

function manifest(...lines: string[]): string {
  return ["name: counter_env", ...lines, ""].join("\n");
}

async function countOf(url: string | undefined): Promise<unknown> {
  const body = JSON.stringify({ action: { amount: 2 } });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/step`, { method: "POST", headers, body });
  return ((await answer.json()) as { observation: { count: unknown } }).observation.count;
}

async function versionsOf(url: string | undefined): Promise<unknown> {
  const { version, contract } = (await (await fetch(`${url}/metadata`)).json()) as Record<string, { version: string }>;
  return [version, contract?.version];
}

describe("an environment", () => {
  test("is served with the module and the variables of its manifest, and with the version of its contract", async () => {
    const text = manifest("environment: game/main.ts", 'version: "0.3.1"', "variables: { FACTOR: 3 }");
    const code = module.replace('name: "', 'version: "2.0.0", name: "');
    await using project = await createProject({ "game/main.ts": code, "openenv.yaml": text, "environment.ts": "" });
    await using running = startCommand(["serve", "--port", "0"], { cwd: project.dir });
    const [, url] = await running.printed(URL_LINE);
    expect(await countOf(url)).toBe(6);
    expect(await versionsOf(url)).toEqual(["2.0.0", "2.0.0"]);
    expect(running.stdout).toContain("counter_env 2.0.0 at");
  });

  test("listens on the port of the manifest, unless PORT or --port sets another", async () => {
    const wanted = await findFreePort();
    const text = manifest(`port: ${wanted}`, 'version: "0.3.1"');
    await using project = await createProject({ "environment.ts": module, "openenv.yaml": text });
    await using first = startCommand(["serve"], { cwd: project.dir, env: { FACTOR: "1", PORT: "" } });
    const [, url, port] = await first.printed(URL_LINE);
    expect(port).toBe(String(wanted));
    expect(await versionsOf(url)).toEqual(["0.3.1", "0.3.1"]);
    await using second = startCommand(["serve"], { cwd: project.dir, env: { FACTOR: "1", PORT: "0" } });
    expect((await second.printed(URL_LINE))[2]).not.toBe(String(wanted));
  });

  test("finds the port of --port in the variable PORT, so that host_url of envs/benchmark names its server", async () => {
    const port = String(await findFreePort());
    await using project = await createProject();
    await using running = startCommand(["serve", BENCHMARK, "--port", port], { cwd: project.dir, env: { PORT: "1" } });
    await using env = await connect((await running.printed(URL_LINE))[1] ?? "");
    expect((await env.reset()).observation["host_url"]).toBe(`${hostname()}:${port}`);
  });

  test("with --watch has the version of the manifest, and variables of the process before those of the manifest", async () => {
    const text = manifest('version: "0.3.1"', "variables: { FACTOR: 3 }");
    await using project = await createProject({ "environment.ts": module, "openenv.yaml": text });
    const options = { cwd: project.dir, env: { FACTOR: "5" } };
    await using running = startCommand(["serve", "--watch", "--port", "0"], options);
    const [, url] = await running.printed(URL_LINE);
    expect(await countOf(url)).toBe(10);
    expect(await versionsOf(url)).toEqual(["0.3.1", "0.3.1"]);
  });
});

test.each([
  ["port: many", /openenv\.yaml:2: port must be a number, got "many"/],
  ['variables: { ALLOWED_ORIGINS: "*" }', /openenv\.yaml:2: variables\.ALLOWED_ORIGINS cannot be set in a manifest/],
  ["environment: missing.ts", /No such file: missing\.ts, the environment in openenv\.yaml\. Correct/],
  ["environment: ../environment.ts", /openenv\.yaml:2: environment must be a relative path inside this folder/],
])("a manifest with %s is one line and exit code 2", async (line, message) => {
  await using project = await createProject({ "environment.ts": module, "openenv.yaml": manifest(line) });
  const { code, stdout, stderr } = await callCommand(["serve", "--port", "0"], { cwd: project.dir });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});

describe("the manifest of a Python environment", () => {
  const text = "name: incident-env\ntype: step-reset\nruntime:\n  app: server/app.py\n  port: 7860\nversion: 1.0\n";
  const LINE =
    /^(?:error: )?This is a Python environment\. Serve it with uv: uv run --isolated --with openenv -- uvicorn server\.app:app --app-dir \S/m;

  test.each([
    ["serve", ["serve"]],
    ["client", ["client", "python"]],
    ["replay", ["replay", "episode.jsonl", "."]],
    ["collect", ["collect", "."]],
    ["schema show", ["schema", "show", "."]],
    ["build", ["build"]],
    ["push", ["push", "--dry-run"]],
  ])("makes %s say first what it is", async (_name, args) => {
    await using project = await createProject({ "openenv.yaml": text, "episode.jsonl": "{}" });
    const { code, stdout, stderr } = await callCommand(args, { cwd: project.dir });
    expect(stderr.split("\n")[0], stdout).toMatch(LINE);
    expect([code, stdout]).toEqual([2, ""]);
  });

  test("makes validate say what it is before the problems", async () => {
    await using project = await createProject({ "openenv.yaml": text });
    const { stdout } = await callCommand(["validate"], { cwd: project.dir });
    const [, first = "", second = ""] = /static\.manifest.*\n\s+(.*)\n\s+(.*)\n/.exec(stdout) ?? [];
    expect(first).toMatch(LINE);
    expect(second).toBe("openenv.yaml has no `validation` block");
  });
});

test("an unknown field of a manifest is a warning with the nearest name", async () => {
  const text = manifest("enviroment: main.ts", "version: 1.10");
  await using project = await createProject({ "environment.ts": counterModule(), "openenv.yaml": text });
  const { code, stderr } = await callCommand(["client", "python"], { cwd: project.dir });
  expect([code, stderr]).toEqual([
    0,
    'warning: openenv.yaml:2: the unknown field "enviroment" is ignored; did you mean environment?\n',
  ]);
});
