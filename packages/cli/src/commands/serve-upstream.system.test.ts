import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "openenv-ts/client";
import { expect, test } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
  type Running,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { processesOfGroup } from "../../../../test-support/commands/processes.js";

/** An environment whose state is the id of its process, so that a test can kill it. */
const MODULE = counterModule()
  .replace("count: number =", "count =")
  .replace("return {", "return { state: () => ({ pid: process.pid }),");
const LIMIT = { timeout: 120_000 };
/** A server in one process, as most Python servers are. */
const MAIN = `
import { serve } from "openenv-ts/server";
import environment from "./environment.mjs";
await serve(environment, { handleSignals: true });
`;
const FILES = { "environment.mjs": MODULE, "main.mjs": MAIN };
const UPSTREAM = `${process.execPath} main.mjs`;

/** A front of processes that serve the environment. */
async function start(project: Project, ...args: string[]): Promise<{ running: Running; url: string }> {
  const running = startCommand(["serve", "--upstream", UPSTREAM, "--port", "0", ...args], { cwd: project.dir });
  const [, url = ""] = await running.printed(/ at (http:\S+)/);
  return { running, url };
}

test("a process that is killed ends its sessions with the reason, and is replaced", LIMIT, async () => {
  await using project = await createProject(FILES);
  const { running, url } = await start(project, "--processes", "2");
  await using _ = running;
  await using one = await connect(url);
  await using other = await connect(url);
  for (const env of [one, other]) await env.reset();
  process.kill(await pidOf(one), "SIGKILL");
  await expect(one.step({ amount: 1 })).rejects.toMatchObject({
    code: "SESSION_LOST",
    message: expect.stringMatching(/process \d ended with signal 9/),
  });
  expect((await other.step({ amount: 1 })).observation).toEqual({ count: 1 });
  await one.reset();
  expect((await one.step({ amount: 2 })).observation).toEqual({ count: 2 });
});

test("nothing outlives a front that is killed", LIMIT, async () => {
  await using project = await createProject(FILES);
  const { running, url } = await start(project);
  const env = await connect(url);
  await env.reset();
  const pid = await pidOf(env);
  expect(processesOfGroup(pid)).toContain(pid);
  running.process.kill("SIGKILL");
  await running.exited;
  while (processesOfGroup(pid).length > 0) await sleep(20);
});

test.each<[string[], string]>([
  [["--processes", "2"], "need --upstream"],
  [["--upstream", "a", "--upstream", "b"], "one command, or URLs"],
  [["--upstream", "a", "--upstream", "http://127.0.0.1:1"], "one command, or URLs"],
  [["--upstream", "http://127.0.0.1:1", "--processes", "2"], "--processes needs a command"],
  [["--upstream", "no-such-command-here"], "no-such-command-here"],
  [["--upstream", "a", "--processes", "0"], "Give a positive integer"],
  [["--upstream", `${process.execPath} -e process.exit(3)`], "code 3"],
])("openenv serve %s says what is wrong", LIMIT, async (args, message) => {
  await using project = await createProject();
  const { code, stderr } = await callCommand(["serve", ...args, "--port", "0"], { cwd: project.dir });
  expect(stderr).toContain(message);
  expect(code).not.toBe(0);
});

async function pidOf(env: { state(): Promise<object> }): Promise<number> {
  return ((await env.state()) as { pid: number }).pid;
}
