import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  runCommand,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { fetchAsOperator, OPERATOR_VARIABLES } from "../../../../test-support/operator.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

const URL_LINE = /at (http:\/\/127\.0\.0\.1:\d+)/;
const FREE = ["--port", "0", "--log-level", "warn"];

/** The same environment in JavaScript. */
const plainModule = counterModule().replaceAll(": number", "");

describe("an environment", () => {
  test("in TypeScript, found in a folder, is served", async () => {
    await using project = await createProject({ "server/environment.ts": counterModule() });
    await using running = startCommand(["serve", ".", ...FREE], { cwd: project.dir });
    const [, url] = await running.printed(URL_LINE);
    const answer = await post(`${url}/step`, { action: { amount: 2 } });
    expect(answer).toMatchObject({ observation: { count: 2 }, reward: 1, done: false });
    // To a pipe: one line, which a program reads, and no help.
    expect(running.stdout).toMatch(/^counter_env \S+ at http:\S+\n$/);
  });

  test("is served by several workers where the temporary folder cannot be written", async () => {
    await using project = await createProject({ "environment.js": plainModule });
    const env = { TMPDIR: join(project.dir, "nowhere") };
    await using running = startCommand(["serve", ...FREE, "--workers", "2"], { cwd: project.dir, env });
    const [, url] = await running.printed(URL_LINE);
    const answer = await post(`${url}/step`, { action: { amount: 2 } });
    expect(answer).toMatchObject({ observation: { count: 2 } });
    running.process.kill("SIGTERM");
    expect(await running.exited).toBe(0);
  });

  test("in JavaScript is served without a compiler", async () => {
    await using project = await createProject({ "environment.js": plainModule });
    await using running = startCommand(["serve", ...FREE], { cwd: project.dir });
    const [, url] = await running.printed(URL_LINE);
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "healthy" });
    expect(existsSync(join(project.dir, ".openenv"))).toBe(false);
  });

  test("in JavaScript that imports TypeScript is compiled", async () => {
    await using project = await createProject({
      "environment.js": `import { one } from "./one.js";\n${plainModule.replace("+= amount", "+= amount * one")}`,
      "one.ts": "export const one: number = 1;",
    });
    await using running = startCommand(["serve", ...FREE], { cwd: project.dir });
    await running.printed(URL_LINE);
    expect(existsSync(join(project.dir, ".openenv"))).toBe(true);
  });

  test("may be the only one among named exports", async () => {
    const named = counterModule().replace("export default", "export const other = 1; export const environment =");
    await using project = await createProject({ "named.ts": named });
    await using running = startCommand(["serve", "named.ts", ...FREE], { cwd: project.dir });
    await running.printed(URL_LINE);
  });
});

test("an environment whose factory throws is refused at the start, unless TRY_FACTORY is false", async () => {
  const broken = counterModule().replace("let count", 'throw new Error("no database");\n      let count');
  await using project = await createProject({ "environment.ts": broken });
  const { code, stdout, stderr } = await runCommand(["serve", ...FREE], { cwd: project.dir });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^error: The factory of "counter_env" failed: no database$/m);
  await using running = startCommand(["serve", ...FREE], { cwd: project.dir, env: { TRY_FACTORY: "false" } });
  const [, url] = await running.printed(URL_LINE);
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "healthy" });
});

test("the README of an environment's folder is shown by the web interface, unless a variable names another", async () => {
  await using project = await createProject({
    "server/environment.ts": counterModule(),
    "README.md": "# Of the folder",
    "other.md": "# Of a variable",
  });
  for (const [env, shown] of [
    [{}, "# Of the folder"],
    [{ ENV_README_PATH: "other.md" }, "# Of a variable"],
  ] as const) {
    await using running = startCommand(["serve", ".", ...FREE], { cwd: project.dir, env });
    const [, url] = await running.printed(URL_LINE);
    expect(await (await fetch(`${url}/web/info`)).json()).toMatchObject({ readme: shown });
  }
});

test("options win over environment variables", async () => {
  await using project = await createProject({ "environment.ts": counterModule() });
  const env = { PORT: "abc", MAX_CONCURRENT_ENVS: "0", OPENENV_MODE: "none", SESSION_TIMEOUT: "-1", LOG_LEVEL: "loud" };
  Object.assign(env, OPERATOR_VARIABLES);
  const options = ["--max-concurrent-envs", "3", "--mode", "production", "--session-timeout", "none"];
  await using running = startCommand(["serve", ...FREE, ...options], { cwd: project.dir, env });
  const [, url] = await running.printed(URL_LINE);
  expect((await fetchAsOperator(`${url}/sessions`).then((response) => response.json())).capacity.max_sessions).toBe(3);
  expect((await fetch(`${url}/reset`, { method: "POST" })).status).toBe(404);
});

test.each(["SIGTERM", "SIGINT"] as const)("%s ends the server with exit code 0", async (signal) => {
  await using project = await createProject({ "environment.ts": counterModule() });
  await using running = startCommand(["serve", ...FREE], { cwd: project.dir });
  await running.printed(URL_LINE);
  running.process.kill(signal);
  expect(await running.exited).toBe(0);
});

describe.each([1, 2])("with %i workers", (workers) => {
  const serveSlowly = async (ms: number) => {
    const slow = counterModule().replace("step: ({ amount }) => (", "step: async ({ amount }) => (await work(), ");
    const work = `const work = () => (console.log("working"), new Promise((end) => setTimeout(end, ${ms})));`;
    const project = await createProject({ "environment.ts": `${slow}\n${work}` });
    const args = ["serve", "--port", "0", "--workers", String(workers)];
    const running = startCommand(args, { cwd: project.dir, env: { SHUTDOWN_GRACE: "60" } });
    const [, url] = await running.printed(URL_LINE);
    const answer = post(`${url}/step`, { action: { amount: 1 } }).catch(() => "cut");
    await running.printed(/working/);
    return { project, running, answer };
  };

  test("a second SIGTERM does not cut an answer in flight short", async () => {
    const { project, running, answer } = await serveSlowly(6_000);
    running.process.kill("SIGTERM");
    await running.printed(/shutting down/);
    running.process.kill("SIGTERM");
    running.process.kill("SIGHUP");
    expect(await answer).toMatchObject({ observation: { count: 1 } });
    expect(await running.exited).toBe(0);
    await project[Symbol.asyncDispose]();
  });

  test("a second SIGINT ends it at once", async () => {
    const { project, running, answer } = await serveSlowly(50_000);
    running.process.kill("SIGINT");
    await running.printed(/shutting down/);
    running.process.kill("SIGINT");
    expect(await running.exited).toBe("SIGINT");
    expect(await answer).toBe("cut");
    await project[Symbol.asyncDispose]();
  });
});

test("a SIGHUP while the server starts does not end it: its worker is replaced when it serves", async () => {
  const module = `console.log("loading");\nawait new Promise((go) => setTimeout(go, 1500));\n${counterModule()}`;
  await using project = await createProject({ "environment.ts": module });
  await using running = startCommand(["serve", ...FREE], { cwd: project.dir });
  await running.printed(/loading/);
  running.process.kill("SIGHUP");
  await running.printed(/loading[\s\S]*loading/);
  const [, url] = await running.printed(URL_LINE);
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test.each([1, 2])("a signal ends a server with %i workers that does not listen yet", async (workers) => {
  await using project = await createProject({ "environment.ts": counterModule() });
  const app = `import { serve } from "openenv-ts/server";
    import environment from "./environment.js";
    const serving = serve(environment, { port: 0, workers: ${workers}, handleSignals: true, logLevel: "silent" });
    process.kill(process.pid, "SIGTERM");
    await serving;`;
  await project.write("app.ts", app);
  expect(await runCommand(["run", "app.ts"], { cwd: project.dir })).toEqual({ code: 0, stdout: "", stderr: "" });
});

describe("bad configuration is one line that says what to do, exit code 2:", () => {
  test("a variable that is not a port", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    await fails(project.dir, ["serve"], /PORT must be an integer.*"abc"/, { PORT: "abc" });
  });

  test("a port in use", async () => {
    await using project = await createProject({ "environment.ts": counterModule() });
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    await fails(project.dir, ["serve", "--port", String(port)], new RegExp(`${port}.*in use.*--port`));
    other.close();
  });

  test("a path that does not exist", async () => {
    await using project = await createProject();
    await fails(project.dir, ["serve", "nowhere"], /No such file or folder: nowhere\. Check/);
  });

  test("a folder without an environment", async () => {
    await using project = await createProject();
    await fails(project.dir, ["serve"], /No environment in .*server\/environment.*openenv serve path\/to/);
  });

  test("a module without an environment", async () => {
    await using project = await createProject({ "environment.ts": "export default { a: 1 };" });
    await fails(project.dir, ["serve"], /environment\.ts exports no environment; add: export default defineEnv/);
  });

  test("a module with several and no default", async () => {
    const twice = `${counterModule().replace("export default", "export const one =")}\nexport const two = one;`;
    await using project = await createProject({ "environment.ts": twice });
    await fails(project.dir, ["serve"], /several environments \(one, two\); make one of them the default/);
  });

  test("a package that is not installed", async () => {
    await using project = await createProject({ "environment.ts": 'import "not-there/deep"; import "node:fs";' });
    await fails(project.dir, ["serve"], /the package not-there is not installed; run: npm install not-there/);
  });

  test.each(["ts", "js"])("a .%s module that throws, with the line that did", async (extension) => {
    await using project = await createProject({
      [`environment.${extension}`]: '// a comment\nimport "node:fs";\n\nthrow new Error("no key\\nset KEY");',
    });
    await fails(
      project.dir,
      ["serve"],
      new RegExp(`Cannot load environment\\.${extension}: no key \\(environment\\.${extension}:4:7\\)`),
    );
  });

  test("a contract with a type that has no JSON form", async () => {
    const table = counterModule().replace("amount: z.int()", "amount: z.int(), table: z.map(z.string(), z.int())");
    await using project = await createProject({ "environment.ts": table });
    await fails(project.dir, ["serve", "--port", "0"], /"counter_env" has no JSON Schema: action\.table: /);
  });

  test("an instance in the place of a factory", async () => {
    const instance = counterModule()
      .replace("() => {", "(() => {")
      .replace(/\}\);\s*$/, "})());");
    await using project = await createProject({ "environment.ts": instance });
    await fails(project.dir, ["serve"], /needs a factory.* \(environment\.ts:11:\d+\)/);
  });
});

test.each(["ts", "js"])("a syntax error in a .%s module shows the line, without a stack", async (extension) => {
  await using project = await createProject({ [`environment.${extension}`]: "const a = 1;\nconst b = ;" });
  expect(await callCommand(["serve"], { cwd: project.dir })).toEqual({
    code: 2,
    stdout: "",
    stderr: `error: environment.${extension}:2:11: Unexpected ";"\n    const b = ;\n`,
  });
});

async function fails(cwd: string, args: string[], message: RegExp, env: Record<string, string> = {}): Promise<void> {
  const { code, stdout, stderr } = await callCommand(args, { cwd, env });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
}

async function post(url: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json();
}
