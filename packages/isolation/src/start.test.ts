/** What a server needs to isolate, and its errors when that is missing. */
import type { RunningServer, ServeOptions } from "openenv-ts/server";
import { afterEach, expect, test } from "vitest";
import { createProject, type Project } from "../../../test-support/commands/command-line.js";
import { serve } from "../../../test-support/environments/built-server.js";
import { startIsolated, step } from "../../../test-support/environments/isolation.js";

const environmentModule = (name: string, factory = "() => ({ reset: answer, step: answer })") => `
  import { defineContract, defineEnvironment } from "openenv-ts";
  import * as z from "zod";
  const contract = defineContract({ name: "${name}", action: z.object({}), observation: z.object({}) });
  const answer = () => ({ observation: {} });
  export const environment = defineEnvironment(contract, ${factory});
`;

const projects: Project[] = [];
afterEach(async () => {
  for (const project of projects.splice(0)) await project[Symbol.asyncDispose]();
});

/** Serves "one_env" and has it isolated with a module of this text. */
async function serveWith(text: string, options: ServeOptions = {}): Promise<RunningServer> {
  const project = await createProject({ "one.mjs": environmentModule("one_env"), "module.mjs": text });
  projects.push(project);
  const { environment } = await import(`${project.dir}/one.mjs`);
  const module = `${project.dir}/module.mjs`;
  return await serve(environment, { port: 0, logLevel: "silent", isolation: "thread", module, ...options });
}

const PROCESSES: ServeOptions = { isolation: "process", isolatePoolSize: 2 };

test.each<[string, string, RegExp, ServeOptions?]>([
  ["without an environment", "export const other = 1;", /exports no environment/],
  ["that throws", 'throw new Error("no licence");', /no licence/],
  ["that throws in a process", 'throw new Error("no licence");', /no licence/, PROCESSES],
  ["with another environment", environmentModule("two_env"), /"two_env", but the server serves "one_env"/],
  [
    "that serves by itself",
    `import { serve } from "openenv-ts/server"; ${environmentModule("one_env")} await serve(environment, { port: 0 });`,
    /must not call serve\(\)/,
  ],
  ["that ends its thread", "process.exit(3);", /exited with code 3/],
  ["that ends its process", "process.exit(3);", /exited with code 3/, PROCESSES],
])("a module %s stops the start", async (_, text, message, options) => {
  await expect(serveWith(text, options)).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringMatching(message),
  });
});

test("the module may be named by its path, and the environment may be a named export", async () => {
  await using server = await serveWith(environmentModule("one_env"));
  const answer = await fetch(`${server.url}/reset`, { method: "POST" });
  expect(await answer.json()).toMatchObject({ observation: {} });
});

test("a factory that fails is FACTORY_ERROR, and the next session calls it again", async () => {
  const text = environmentModule(
    "one_env",
    'async () => { if ((globalThis.tries = (globalThis.tries ?? 0) + 1) === 1) throw new Error("not yet"); return { reset: answer, step: answer }; }',
  );
  await using server = await serveWith(text, { isolatePoolSize: 1, maxConcurrentEnvs: 1 });
  const reset = () => fetch(`${server.url}/reset`, { method: "POST" });
  expect(await (await reset()).json()).toMatchObject({
    code: "FACTORY_ERROR",
    detail: expect.stringMatching(/failed: not yet/),
  });
  expect((await reset()).status).toBe(200);
});

test.each([
  [{ isolation: "thread" }, /needs the option `module`/],
  [{ stepTimeout: 1 }, /set ISOLATION to thread or process/],
  [{ isolation: "vm" as "thread" }, /ISOLATION must be one of none, thread, process/],
  [{ isolation: "thread", module: "/m.mjs", isolatePoolSize: 0 }, /ISOLATE_POOL_SIZE must be an integer from 1/],
  [{ isolation: "thread", module: "/m.mjs", stepTimeout: 0 }, /STEP_TIMEOUT must be a number/],
] satisfies [ServeOptions, RegExp][])("options %o are refused", async (options, message) => {
  await using isolated = await startIsolated();
  const { environment } = isolated.server;
  await expect(serve(environment, { port: 0, ...options })).rejects.toThrow(message);
});

test("an isolate of a pool is replaced each time it is lost", async () => {
  await using isolated = await startIsolated({ isolation: "process", isolatePoolSize: 1 });
  const pids = new Set<number>();
  for (let round = 0; round < 3; round++) {
    const { socket, pid } = await isolated.play();
    pids.add(pid);
    expect(await socket.ask(step("exit"))).toMatchObject({ data: { code: "ISOLATE_LOST" } });
    await socket.closed;
  }
  expect(pids.size).toBe(3);
});
