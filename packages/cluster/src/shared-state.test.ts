import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
  startCommand,
} from "../../../test-support/commands/command-line.js";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { useServers } from "../../../test-support/servers/servers.js";

const servers = useServers();
const UNDECLARED = /does not declare whether its sessions share any/g;
const module = (declared: string): string => counterModule().replace(/\}\);\s*$/, `}, { ${declared} });`);

let project: Project;
beforeAll(async () => {
  project = await createProject({
    "undeclared.ts": counterModule(),
    "nothing.ts": module('sharesState: "no"'),
    "process.ts": module('sharesState: "process"'),
  });
});
afterAll(() => project[Symbol.asyncDispose]());

describe("openenv serve with two workers", () => {
  test.each([
    ["undeclared.ts", 1],
    ["nothing.ts", 0],
  ])("%s starts, and the log says %i times that nothing is declared", async (file, count) => {
    const args = ["serve", file, "--port", "0", "--workers", "2"];
    await using running = startCommand(args, { cwd: project.dir });
    // A worker logs its notes before it listens.
    await running.printed(/\blistening\b[\s\S]*\blistening\b/);
    expect(running.stderr.match(UNDECLARED) ?? []).toHaveLength(count);
  });

  test("is refused for sessions that share the memory of a process", async () => {
    const { code, stderr } = await callCommand(["serve", "process.ts", "--port", "0", "--workers", "2"], {
      cwd: project.dir,
    });
    expect(stderr).toMatch(/WORKERS is 2, but "counter_env" declares sharesState: "process".*Set WORKERS to 1/);
    expect(code).not.toBe(0);
  });
});

test("one worker serves sessions that share its memory, and logs no warning", async () => {
  await using running = startCommand(["serve", "process.ts", "--port", "0"], { cwd: project.dir });
  await running.printed(/at http:\/\/[\w.:]+/);
  expect(running.stderr).not.toMatch(UNDECLARED);
});

test("isolation of single sessions is refused for them", async () => {
  const { environment } = defineCounter({ sharesState: "process" });
  const module = new URL("file:///environment.js");
  await expect(servers.start({ isolation: "thread", module }, { environment })).rejects.toThrow(
    /ISOLATION is thread, but .*ISOLATE_POOL_SIZE to 1/,
  );
});

test("another value is a TypeError", () => {
  expect(() => defineCounter({ sharesState: "yes" as never })).toThrow(
    'sharesState must be "no" or "process", got "yes"',
  );
});
