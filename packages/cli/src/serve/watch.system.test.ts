import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  counterModule,
  createProject,
  type Project,
  type Running,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { requireRuntimes } from "../../../../test-support/requirement.js";

/** Each test starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

const URL_LINE = /at (http:\/\/127\.0\.0\.1:\d+)/;
const ARGS = ["serve", "--watch", "--port", "0", "--log-level", "warn"];

const RUNTIMES = await requireRuntimes();
const [NODE] = RUNTIMES;

interface Watched extends AsyncDisposable {
  project: Project;
  running: Running;
  url: string;
}

/** Serves a project with --watch. */
function watch({ dir }: Project, { name, path }: { name: string; path: string }): Running {
  const env = { PATH: `${dirname(path)}${delimiter}${process.env["PATH"]}` };
  return startCommand([...ARGS, "--runtime", name], { cwd: dir, env });
}

/** Serves an environment whose step adds a constant of another file, with --watch. */
async function startWatched(runtime: { name: string; path: string } = NODE): Promise<Watched> {
  const main = `import { factor } from "./factor.js";\n${counterModule("amount * factor")}`;
  const project = await createProject({ "environment.ts": main, "factor.ts": "export const factor: number = 1;" });
  const running = watch(project, runtime);
  const [, url = ""] = await running.printed(URL_LINE);
  await running.printed(/Watching environment\.ts/);
  return {
    project,
    running,
    url,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

async function countAfterStep(url: string): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/step`, { method: "POST", headers, body: '{"action":{"amount":1}}' });
  return (await answer.json()).observation.count;
}

describe.each(RUNTIMES)("on $name", ({ name, path, available }) => {
  test.skipIf(!available)("a change in an imported file restarts the server on the same port", async () => {
    await using watched = await startWatched({ name, path });
    expect(await countAfterStep(watched.url)).toBe(1);
    await watched.project.write("factor.ts", "export const factor: number = 5;");
    await watched.running.printed(/Restarted/);
    expect(await countAfterStep(watched.url)).toBe(5);
    // Only Node names its keep-alive.
    const { headers } = await fetch(`${watched.url}/health`);
    expect(headers.has("keep-alive")).toBe(name === "node");
    watched.running.process.kill("SIGTERM");
    expect(await watched.running.exited).toBe(0);
    await expect(fetch(watched.url)).rejects.toThrow();
  });

  test.skipIf(!available)(
    "a data file that is created after the start restarts the server, also when its folder is new",
    async () => {
      const main = `import { existsSync, readFileSync } from "node:fs";
      import { delimiter, dirname, join } from "node:path";
      const file = join(import.meta.dirname, ["da", "ta"].join(""), "factor.txt");
      const other = join(import.meta.dirname, "more/words.txt");
      const factor = existsSync(file) ? Number(readFileSync(file, "utf8")) : 1;
      const read = () => { try { return Number(readFileSync(other, "utf8")); } catch { return 1; } };
      ${counterModule("factor * read()")}`;
      await using project = await createProject({ "environment.ts": main });
      await using running = watch(project, { name, path });
      const [, url = ""] = await running.printed(URL_LINE);
      await running.printed(/Watching/);
      expect(await countAfterStep(url)).toBe(1);
      const counts = (expected: number) =>
        vi.waitUntil(async () => (await countAfterStep(url).catch(() => 0)) === expected, {
          timeout: 60_000,
          interval: 100,
        });
      await project.write("data/factor.txt", "2");
      await counts(2);
      await rm(join(project.dir, "data"), { recursive: true });
      await counts(1);
      await project.write("data/factor.txt", "3");
      await counts(3);
      // No module refers to this file, but the step has tried to read it.
      await project.write("more/words.txt", "5");
      await counts(15);
      expect(running.stdout + running.stderr).toContain("Restarted");
    },
  );
});

test("a change of a data file restarts the server, in data/ and where a module refers to it", async () => {
  const main = `import { readFileSync } from "node:fs";
    const step = Number(readFileSync(new URL("./step.txt", import.meta.url), "utf8"));
    const file = (name: string) => readFileSync(new URL(\`./data/\${name}\`, import.meta.url), "utf8");
    ${counterModule('step * Number(file("more/factor.txt"))')}`;
  await using project = await createProject({ "environment.ts": main, "step.txt": "1", "data/more/factor.txt": "1" });
  await using running = startCommand(ARGS, { cwd: project.dir });
  const [, url = ""] = await running.printed(URL_LINE);
  await running.printed(/Watching/);
  await project.write("step.txt", "2");
  await running.printed(/Restarted/);
  expect(await countAfterStep(url)).toBe(2);
  await project.write("data/more/factor.txt", "3");
  await running.printed(/Restarted[\s\S]*Restarted/);
  expect(await countAfterStep(url)).toBe(6);
});

test("an edit that does not compile is reported, and the previous version keeps running until it is fixed", async () => {
  await using watched = await startWatched();
  await watched.project.write("factor.ts", "export const factor: number = ;");
  await watched.running.printed(/error: factor\.ts:1:31: Unexpected ";"/);
  await watched.running.printed(/waiting for a change/);
  expect(await countAfterStep(watched.url)).toBe(1);
  await watched.project.write("factor.ts", "export const factor: number = 6;");
  await watched.running.printed(/Restarted/);
  expect(await countAfterStep(watched.url)).toBe(6);
});

test("a missing file is detected when it is created", async () => {
  await using watched = await startWatched();
  await rm(join(watched.project.dir, "factor.ts"));
  await watched.running.printed(/Could not resolve ".\/factor\.js"/);
  await watched.project.write("factor.ts", "export const factor: number = 7;");
  await watched.running.printed(/Restarted/);
  expect(await countAfterStep(watched.url)).toBe(7);
});

test("an edit that compiles but does not load is reported, and the next change restarts the server", async () => {
  await using watched = await startWatched();
  await watched.project.write("factor.ts", 'throw new Error("bad factor"); export const factor: number = 0;');
  await watched.running.printed(/error: Cannot load environment\.ts: bad factor \(factor\.ts:1:7\)/);
  await watched.running.printed(/The server exited; waiting for a change/);
  await watched.project.write("factor.ts", "export const factor: number = 8;");
  await watched.running.printed(/Restarted/);
  expect(await countAfterStep(watched.url)).toBe(8);
});

test.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "%s to the watching process ends the server too",
  async (signal) => {
    await using watched = await startWatched();
    watched.running.process.kill(signal);
    // Resolves when the streams are closed, so the serving process has exited too.
    expect(await watched.running.exited).toBe(signal === "SIGKILL" ? "SIGKILL" : 0);
    await expect(fetch(watched.url)).rejects.toThrow();
  },
);

test("Ctrl-C, which signals both processes, lets a running step finish", async () => {
  const slow = counterModule().replace("step: ({ amount }) => (", "step: async ({ amount }) => (await work(), ");
  const work = 'const work = () => { console.log("working"); return new Promise((end) => setTimeout(end, 3_000)); };';
  await using project = await createProject({ "environment.ts": `${slow}\n${work}` });
  await using running = startCommand(ARGS, { cwd: project.dir, detached: true });
  const [, url = ""] = await running.printed(URL_LINE);
  await running.printed(/Watching/);
  const count = countAfterStep(url);
  await running.printed(/working/);
  process.kill(-(running.process.pid ?? 0), "SIGINT");
  expect(await count).toBe(1);
  expect(await running.exited).toBe(0);
});

test("plain JavaScript is watched too", async () => {
  const plain = (amount: string) => counterModule(amount).replaceAll(": number", "");
  await using project = await createProject({ "environment.js": plain("amount") });
  await using running = startCommand(ARGS, { cwd: project.dir });
  const [, url = ""] = await running.printed(URL_LINE);
  await running.printed(/Watching/);
  await project.write("environment.js", plain("amount * 9"));
  await running.printed(/Restarted/);
  expect(await countAfterStep(url)).toBe(9);
});

test("the command of docs/guide/serving.md restarts on a change, and its log level is that of --log-level", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/guide/serving.md"), "utf8");
  const [, command = ""] = /^npx openenv (serve \. --reload --log-level debug)/m.exec(page) ?? [];
  await using project = await createProject({ "environment.ts": counterModule() });
  await using running = startCommand([...command.split(" "), "--port", "0"], {
    cwd: project.dir,
    env: { LOG_LEVEL: "silent" },
  });
  const [, url = ""] = await running.printed(URL_LINE);
  await running.printed(/Watching/);
  expect(await countAfterStep(url)).toBe(1);
  await running.printed(/"msg":"listening"/);
  await project.write("environment.ts", counterModule("amount * 9"));
  await running.printed(/Restarted/);
  expect(await countAfterStep(url)).toBe(9);
});

test("an invalid configuration at the start exits with code 2, as without --watch", async () => {
  await using project = await createProject({ "environment.ts": counterModule(), "empty.ts": "export {};" });
  for (const args of [
    ["serve", "--watch"],
    ["serve", "empty.ts", "--reload"],
  ]) {
    await using running = startCommand(args, { cwd: project.dir, env: { PORT: "abc" } });
    expect(await running.exited).toBe(2);
    expect(running.stderr).toMatch(/^error: [^\n]*\n$/);
  }
});
