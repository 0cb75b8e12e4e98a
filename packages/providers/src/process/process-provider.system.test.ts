import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { checkProvider, processProvider } from "@openenv-ts/providers";
import { connect } from "openenv-ts/client";
import { renderCheckReport } from "openenv-ts/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { counterModule, createProject } from "../../../../test-support/commands/command-line.js";
import { startHub } from "../../../../test-support/hub/hub-server.js";
import { until } from "../../../../test-support/servers/cluster.js";

/** Each test starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

test("it keeps the promises of every provider", async () => {
  await using project = await createProject({
    "environment.ts": counterModule(),
    "broken/environment.ts": "export default 1 +;",
    "empty/README.md": "nothing",
    "throws/environment.ts": 'throw new Error("no model file");',
    "factory/environment.ts": FAILING_FACTORY,
    "hangs/environment.ts": counterModule().replace("export default", "for (;;);\nexport default"),
  });
  const at = (path: string) => ({ directory: `${project.dir}/${path}` });
  const report = await checkProvider({
    create: processProvider,
    works: at(""),
    actions: [{ amount: 1 }],
    writes: "listening",
    broken: {
      "no such folder": { spec: at("nowhere"), code: "SOURCE_NOT_FOUND", message: /nowhere/ },
      "no environment": {
        spec: at("empty"),
        code: "START_FAILED",
        message: /exited with code 2[\s\S]*in \/.*\/empty: searched for/,
      },
      "does not compile": { spec: at("broken"), code: "START_FAILED", message: /environment\.ts:1/ },
      "exits at once": { spec: at("throws"), code: "START_FAILED", message: /no model file/ },
      "cannot make its environment": {
        spec: at("factory"),
        code: "START_FAILED",
        message: /factory of "counter_env" failed: no key/,
      },
      "never ready": { spec: { ...at("hangs"), timeoutMs: 3_000 }, code: "START_TIMEOUT" },
    },
  });
  expect(report.passed, renderCheckReport(report)).toBe(true);
}, 180_000);

test("a git repository is cloned, its packages are installed, and it is started", async () => {
  await using hub = await startHub();
  await using project = await createProject();
  // In the project, so that a repository without packages finds ours.
  vi.stubEnv("OPENENV_CACHE", `${project.dir}/cache`);
  onTestFinished(() => void vi.unstubAllEnvs());
  await hub.addSpace("author/counter", { "package.json": '{ "type": "module" }', "environment.ts": counterModule() });
  await using started = await processProvider().start({ git: `${hub.url}/spaces/author/counter` });
  await using env = await connect(started.url);
  expect((await env.reset()).observation).toEqual({ count: 0 });
  await hub.addSpace("author/python", { "pyproject.toml": "" });
  const python = processProvider().start({ git: `${hub.url}/spaces/author/python` });
  await expect(python).rejects.toThrow("use uvProvider()");
}, 120_000);

const FAILING_FACTORY = counterModule().replace("let count", 'throw new Error("no key");\n let count');

test("a module is started like a folder, with its own variables", async () => {
  await using project = await createProject({ "mine.mjs": WITH_VARIABLE });
  const provider = processProvider();
  await using started = await provider.start({ directory: `${project.dir}/mine.mjs`, env: { GREETING: "hello" } });
  await using env = await connect(started.url);
  expect((await env.reset()).observation).toEqual({ greeting: "hello", workers: "" });
});

const WITH_VARIABLE = `
  import { defineContract, defineEnvironment } from "openenv-ts";
  import * as z from "zod";
  const contract = defineContract({
    name: "greeting_env",
    action: z.object({}),
    observation: z.object({ greeting: z.string(), workers: z.string() }),
  });
  const look = () => ({ observation: { greeting: process.env.GREETING ?? "", workers: process.env.WORKERS ?? "" } });
  export default defineEnvironment(contract, () => ({ reset: look, step: look }));
`;

test("HOST, PORT and WORKERS of the caller do not apply to the started server", async () => {
  await using project = await createProject({ "environment.mjs": WITH_VARIABLE });
  process.env["WORKERS"] = "3";
  process.env["HOST"] = "203.0.113.1";
  try {
    await using started = await processProvider().start({ directory: project.dir });
    await using env = await connect(started.url);
    expect((await env.reset()).observation).toMatchObject({ workers: "" });
  } finally {
    delete process.env["WORKERS"];
    delete process.env["HOST"];
  }
});

test("the error for a port in use names it, and nothing is left", async () => {
  await using project = await createProject({ "environment.ts": counterModule() });
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  const { port } = holder.address() as { port: number };
  try {
    const starting = processProvider({ port }).start({ directory: project.dir });
    await expect(starting).rejects.toThrow(new RegExp(`exited with code 2[\\s\\S]*${port}`));
  } finally {
    holder.close();
  }
});

test("the processes that the environment has started end with it", async () => {
  await using project = await createProject({
    "environment.mjs": `
      import { spawn } from "node:child_process";
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
      console.log("child " + child.pid);
      ${WITH_VARIABLE}`,
  });
  const started = await processProvider().start({ directory: project.dir });
  let pid = 0;
  await until(async () => {
    pid = Number(/child (\d+)\n/.exec(await started.logs())?.[1] ?? 0);
    return pid > 0;
  });
  expect(isRunning(pid)).toBe(true);
  await started.close();
  await until(() => !isRunning(pid));
});

const PACKAGE = join(import.meta.dirname, "../..");

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test.each([
  ["an uncaught exception", 'setTimeout(() => { throw new Error("crash"); }, 10);', 1],
  ["an exit", "process.exit(7);", 7],
  ["a return without close()", "", 0],
])("%s of the caller leaves nothing", async (_how, ending, code) => {
  await using project = await createProject({ "environment.mjs": WITH_VARIABLE });
  const script = `
    import { processProvider } from "@openenv-ts/providers";
    const started = await processProvider().start({ directory: ${JSON.stringify(project.dir)} });
    console.log(started.url);
    ${ending}`;
  const args = ["--input-type=module", "--eval", script];
  const caller = spawn(process.execPath, args, { cwd: PACKAGE, stdio: ["ignore", "pipe", "ignore"] });
  let url = "";
  caller.stdout.on("data", (text) => (url += text));
  expect((await once(caller, "close"))[0]).toBe(code);
  expect(url).toMatch(/^http/);
  await until(() =>
    fetch(`${url.trim()}/health`).then(
      () => false,
      () => true,
    ),
  );
});

test("a source that it cannot start is rejected, and the error names the right provider", async () => {
  await expect(processProvider().start({ image: "echo" })).rejects.toThrow(/dockerProvider/);
  expect(() => processProvider({ port: -1 })).toThrow("port must be an integer from 0 (a free port) to 65535, got -1");
});
