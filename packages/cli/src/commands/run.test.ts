import { expect, test, vi } from "vitest";
import { createProject, runCommand, startCommand } from "../../../../test-support/commands/command-line.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

test("arguments, also ones that look like options, and standard input reach the script", async () => {
  await using project = await createProject({
    "main.ts": `
      import { text } from "node:stream/consumers";
      const input: string = await text(process.stdin);
      console.log(JSON.stringify([process.argv.slice(2), input]));`,
  });
  const args = ["run", "main.ts", "one", "--port", "2", "--help"];
  const { stdout } = await runCommand(args, { cwd: project.dir, input: "from outside" });
  expect(JSON.parse(stdout)).toEqual([["one", "--port", "2", "--help"], "from outside"]);
});

test("the script is the main module by its own path", async () => {
  await using project = await createProject({
    "main.ts": 'console.log(process.argv[1] === import.meta.filename, import.meta.url.endsWith("/main.ts"));',
    "main.cjs": "console.log(require.main === module, process.argv[1] === __filename);",
  });
  for (const file of ["main.ts", "main.cjs"]) {
    expect((await runCommand(["run", file], { cwd: project.dir })).stdout).toBe("true true\n");
  }
});

test("the exit code is the script's", async () => {
  await using project = await createProject({
    "set.ts": "process.exitCode = 3 as number;",
    "call.js": "process.exit(4);",
    "never.ts": "await new Promise<void>(() => {});",
  });
  const codeOf = async (file: string) => (await runCommand(["run", file], { cwd: project.dir })).code;
  expect(await codeOf("set.ts")).toBe(3);
  expect(await codeOf("call.js")).toBe(4);
  expect(await codeOf("never.ts")).toBe(13);
});

test("a failure shows the line of the source and exits with 1", async () => {
  await using project = await createProject({
    "main.ts": 'import { fail } from "./fail.js";\n\nfail();',
    "fail.ts": 'type Unused = string;\n\nexport function fail(): never {\n  throw new Error("on purpose");\n}',
  });
  const { code, stderr } = await runCommand(["run", "main.ts"], { cwd: project.dir });
  expect(stderr).toMatch(/Error: on purpose\n\s+at fail \(.*\/fail\.ts:4:9\)\n\s+at .*\/main\.ts:3:1\)/);
  expect(code).toBe(1);
});

test("a signal reaches the script, and ends one that does not listen", async () => {
  await using project = await createProject({
    "listens.ts": 'process.on("SIGTERM", () => process.exit(7)); setInterval(() => {}, 1000); console.log("ready");',
    "deaf.ts": 'setInterval(() => {}, 1000); console.log("ready");',
  });
  for (const [file, result] of [
    ["listens.ts", 7],
    ["deaf.ts", "SIGTERM"],
  ] as const) {
    await using running = startCommand(["run", file], { cwd: project.dir });
    await running.printed(/ready/);
    running.process.kill("SIGTERM");
    expect(await running.exited).toBe(result);
  }
});

test("workers of serve() run the same script with its arguments", async () => {
  await using project = await createProject({
    "main.ts": `
      import { defineContract, defineEnvironment } from "openenv-ts";
      import { serve } from "openenv-ts/server";
      import * as z from "zod";
      const observation = z.object({ argv: z.array(z.string()) });
      const contract = defineContract({ name: "argv_env", action: z.object({}), observation });
      const observed = { observation: { argv: process.argv.slice(1) } };
      const environment = defineEnvironment(contract, () => ({ reset: () => observed, step: () => observed }));
      const server = await serve(environment, { port: 0, supervise: true });
      if (server.role === "supervisor") {
        const answer = await fetch(server.url + "/reset", { method: "POST" });
        console.log(JSON.stringify((await answer.json()).observation.argv));
        await server.close();
      }`,
  });
  const { code, stdout, stderr } = await runCommand(["run", "main.ts", "--color", "red"], { cwd: project.dir });
  expect(stderr).not.toContain("Error");
  expect(JSON.parse(stdout)).toEqual([expect.stringMatching(/\/main\.ts$/), "--color", "red"]);
  expect(code).toBe(0);
});

test("JavaScript runs as it is, without a compiled copy", async () => {
  await using project = await createProject({ "main.js": "console.log(import.meta.url);" });
  const { stdout } = await runCommand(["run", "main.js"], { cwd: project.dir });
  expect(stdout).toMatch(/project-[^/]+\/main\.js\n$/);
});

test("a script that does not compile or exist is one error without a stack, exit code 2", async () => {
  await using project = await createProject({ "broken.ts": "let a: number = ;" });
  expect(await runCommand(["run", "broken.ts"], { cwd: project.dir })).toEqual({
    code: 2,
    stdout: "",
    stderr: 'error: broken.ts:1:17: Unexpected ";"\n    let a: number = ;\n',
  });
  const missing = await runCommand(["run", "missing.ts"], { cwd: project.dir });
  expect(missing.stderr).toMatch(/^error: There is no file missing\.ts; .*\n$/);
  expect(missing.code).toBe(2);
});
