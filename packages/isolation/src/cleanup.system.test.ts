/** Nothing that isolation started outlives its session, its server or the server's process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { createProject } from "../../../test-support/commands/command-line.js";
import {
  ISOLATED_MODULE,
  isAlive,
  startIsolated,
  step,
  untilGone,
} from "../../../test-support/environments/isolation.js";
import { waitFor } from "../../../test-support/servers/servers.js";

// Starting an isolate takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 60_000 });

/** Counts threads and child processes of the process it runs in; while it serves, one of them is its watchdog. */
const COUNT = `
  process.report.excludeNetwork = true;
  const count = () => process.report.getReport().workers.length +
    process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
`;

/** Serves the module in a process of its own, which tells what it is asked. */
async function startServing(script: string): Promise<AsyncDisposable & { child: ChildProcess; lines: string[] }> {
  const project = await createProject({ "environment.mjs": ISOLATED_MODULE });
  const main = await project.write(
    "main.mjs",
    `import { serve } from "openenv-ts/server";
     import { connect } from "openenv-ts/client";
     import environment from "./environment.mjs";
     const module = new URL("./environment.mjs", import.meta.url);
     const tell = (value) => console.log(JSON.stringify(value));
     ${COUNT}
     ${script}`,
  );
  const child = spawn(process.execPath, [main], { detached: true });
  const lines: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => lines.push(...text.split("\n").filter(Boolean)));
  child.stderr.setEncoding("utf8").on("data", (text: string) => lines.push(text));
  return {
    child,
    lines,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await project[Symbol.asyncDispose]();
    },
  };
}

describe.each(["thread", "process"] as const)("a %s", (isolation) => {
  test("ends with its session; 20 sessions leave the one that is spare, and the server leaves nothing", async () => {
    await using running = await startServing(`
      const server = await serve(environment, { port: 0, logLevel: "silent", isolation: "${isolation}", module });
      const play = async () => {
        const env = await connect(server.url, { check: false });
        await env.reset();
        await env.step({ op: "add" });
        await env.close();
      };
      for (let i = 0; i < 5; i++) await Promise.all([play(), play(), play(), play()]);
      while (server.capacity().active_sessions > 0 || count() > 2) await new Promise((end) => setTimeout(end, 20));
      tell("one left");
      await server.close();
      // The handle of a process that has ended goes in a later turn.
      for (let i = 0; i < 500 && count() > 0; i++) await new Promise((next) => setTimeout(next, 20));
      tell(count());
    `);
    // It ends by itself: nothing keeps it alive.
    const [code] = await once(running.child, "close");
    expect(running.lines).toEqual(['"one left"', "0"]);
    expect(code).toBe(0);
  }, 300_000);

  test("that is stuck does not keep the server from closing", async () => {
    const isolated = await startIsolated({ isolation });
    const { socket, pid } = await isolated.play();
    socket.send(step("loop"));
    await waitFor(() => isolated.log().includes("looping"));
    await isolated[Symbol.asyncDispose]();
    if (isolation === "process") expect(isAlive(pid)).toBe(false);
  });
});

test("spares are ready before they are needed, and as many as asked for", async () => {
  await using running = await startServing(`
    const server = await serve(environment, { port: 0, logLevel: "silent", isolation: "process", module, isolateSpares: 3 });
    while (count() < 4) await new Promise((end) => setTimeout(end, 20));
    const env = await connect(server.url, { check: false });
    await env.reset();
    while (count() < 5) await new Promise((end) => setTimeout(end, 20));
    await new Promise((end) => setTimeout(end, 300));
    tell(count());
    await env.close();
    await server.close();
  `);
  await once(running.child, "close");
  expect(running.lines).toEqual(["5"]);
}, 60_000);

test("an environment that is made when its time is up is closed in the isolate that it shares", async () => {
  const source = `
    import { appendFileSync, existsSync } from "node:fs";
    import { defineContract, defineEnvironment } from "openenv-ts";
    import * as z from "zod";
    const log = (text) => appendFileSync(new URL("./log.txt", import.meta.url), text + "\\n");
    const contract = defineContract({ name: "slow_env", action: z.object({}), observation: z.object({}) });
    const answer = () => ({ observation: {} });
    export default defineEnvironment(contract, async () => {
      log("making");
      while (!existsSync(new URL("./go", import.meta.url))) await new Promise((end) => setTimeout(end, 5));
      return { reset: answer, step: answer, close: () => log("closed") };
    });
  `;
  await using isolated = await startIsolated({ isolation: "thread", isolatePoolSize: 1 }, source);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const socket = await isolated.open();
    while (!isolated.log().includes("making")) await new Promise((next) => setImmediate(next));
    vi.advanceTimersByTime(60_000);
    expect(await socket.receive()).toMatchObject({ data: { code: "FACTORY_ERROR" } });
  } finally {
    vi.useRealTimers();
  }
  expect(isolated.log()).toEqual(["making"]);
  writeFileSync(new URL("./go", isolated.url), "");
  await waitFor(() => isolated.log().includes("closed"));
});

describe("the processes of a server", () => {
  const CONNECT = `
    const server = await serve(environment, { port: 0, logLevel: "silent", isolation: "process", module, isolateSpares: 0 });
    const [env, other] = [await connect(server.url, { check: false }), await connect(server.url, { check: false })];
    const pids = [(await env.reset()).observation.pid, (await other.reset()).observation.pid];
  `;

  test("end when it is killed, also one that is in an endless loop", async () => {
    await using running = await startServing(`${CONNECT}
      import { existsSync } from "node:fs";
      void env.step({ op: "loop" });
      while (!existsSync(new URL("./log.txt", module))) await new Promise((end) => setTimeout(end, 20));
      tell(pids);
    `);
    await vi.waitFor(() => expect(running.lines).not.toEqual([]), { timeout: 50_000 });
    const pids = JSON.parse(running.lines[0] ?? "") as number[];
    expect(pids.every(isAlive)).toBe(true);
    running.child.kill("SIGKILL");
    await Promise.all(pids.map(untilGone));
  }, 60_000);

  test.each(["SIGINT", "SIGHUP"] as const)(
    "are not taken down by a %s that the server answers by draining",
    async (signal) => {
      await using running = await startServing(`${CONNECT}
      process.once("${signal}", async () => {
        tell((await env.step({ op: "add" })).reward);
        await Promise.all([env.close(), other.close()]);
        await server.close();
      });
      tell(pids);
    `);
      await vi.waitFor(() => expect(running.lines).not.toEqual([]), { timeout: 50_000 });
      process.kill(-(running.child.pid ?? 0), signal);
      await once(running.child, "close");
      expect(running.lines.slice(1)).toEqual(["1"]);
    },
    60_000,
  );
});
