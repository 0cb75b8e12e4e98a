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
  ["port: many", /openenv\.yaml:2: port must be a number, and is "many"/],
  [
    'variables: { ALLOWED_ORIGINS: "*" }',
    /openenv\.yaml:2: variables\.ALLOWED_ORIGINS is not a variable that a manifest/,
  ],
  ["environment: missing.ts", /There is no file missing\.ts, which openenv\.yaml names as the environment; correct it/],
  ["environment: ../environment.ts", /openenv\.yaml:2: environment must be a path in this folder/],
])("a manifest with %s is an error of one line and exit code 2", async (line, message) => {
  await using project = await createProject({ "environment.ts": module, "openenv.yaml": manifest(line) });
  const { code, stdout, stderr } = await callCommand(["serve", "--port", "0"], { cwd: project.dir });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});
