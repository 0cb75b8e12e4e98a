import { expect, test } from "vitest";
import { counterModule, createProject, startCommand } from "../../../../test-support/commands/command-line.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";

const URL_LINE = /at (http:\/\/127\.0\.0\.1:\d+)/;
const FREE = ["--port", "0", "--log-level", "error"];
/** A TypeScript module whose step reports its process, and never comes back from 13. */
const MODULE = counterModule("amount === 13 ? forever() : process.pid").concat(
  "function forever(): number { for (;;); }",
);

test("--isolation, --isolate-pool-size and --step-timeout isolate a module in TypeScript", {
  timeout: 90_000,
}, async () => {
  await using project = await createProject({ "environment.ts": MODULE });
  const flags = ["--isolation", "process", "--isolate-pool-size", "1", "--step-timeout", "5"];
  await using running = startCommand(["serve", ...FREE, ...flags], { cwd: project.dir });
  const [, url = ""] = await running.printed(URL_LINE);
  const pids = new Set<unknown>();
  for (let i = 0; i < 2; i++) pids.add(await playOnce(url, 1));
  expect(pids.size).toBe(1);
  expect(pids).not.toContain(running.process.pid);
  expect(await playOnce(url, 13)).toBe("TIMEOUT");
  const next = await playOnce(url, 1);
  expect(next).toEqual(expect.any(Number));
  expect(pids).not.toContain(next);
  running.process.kill("SIGTERM");
  expect(await running.exited).toBe(0);
});

test("ISOLATION isolates too, and without a pool size each session has a separate process", async () => {
  await using project = await createProject({ "environment.ts": MODULE });
  await using running = startCommand(["serve", ...FREE], { cwd: project.dir, env: { ISOLATION: "process" } });
  const [, url = ""] = await running.printed(URL_LINE);
  const pids = [await playOnce(url, 1), await playOnce(url, 1), running.process.pid];
  expect(new Set(pids).size).toBe(3);
});

/** The count after one step, or the code of its error. */
async function playOnce(url: string, amount: number): Promise<unknown> {
  await using socket = await openTestSocket(`${url}/ws`);
  await socket.ask({ type: "reset" });
  const { data } = (await socket.ask({ type: "step", data: { amount } })) as {
    data: { observation?: { count: number }; code?: string };
  };
  return data.observation?.count ?? data.code;
}
