/** The heap of a worker: its limit, and the warning of a server that accepts more sessions than fit. Real processes. */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createProject,
  type Project,
  type Running,
  runCommand,
  startCommand,
} from "../../../../../test-support/commands/command-line.js";
import { startProgram } from "../../../../../test-support/commands/npm.js";
import { until } from "../../../../../test-support/servers/cluster.js";
import { openTestSocket, type TestSocket } from "../../../../../test-support/sockets/socket.js";

const LIMIT = { timeout: 120_000 };

/** A step keeps `keep` megabytes of heap, allocates `waste` more, and returns the limit of its heap in bytes. */
const ENVIRONMENT = `
import { defineContract, defineEnvironment } from "openenv-ts";
import { getHeapStatistics } from "node:v8";
import * as z from "zod";
const contract = defineContract({
  name: "heap_env",
  action: z.object({ keep: z.int(), waste: z.int() }),
  observation: z.object({ limit: z.number() }),
});
const megabyte = () => new Array(131_072).fill(0.5);
let shared;
export default defineEnvironment(contract, () => {
  const kept = [];
  return {
    reset() {
      shared ??= Array.from({ length: 100 }, megabyte);
      return { observation: { limit: 0 } };
    },
    step({ keep, waste }) {
      for (let i = 0; i < keep; i++) kept.push(megabyte());
      for (let i = 0; i < waste; i++) megabyte();
      return { observation: { limit: getHeapStatistics().heap_size_limit } };
    },
  };
});
`;
const PROGRAM = `
import { serve } from "openenv-ts/server";
import environment from "./environment.mjs";
const server = await serve(environment, { port: 0, heapMb: 200, logLevel: "silent" });
if (server.role === "supervisor") console.log("serves at " + server.url);
`;

let project: Project;
beforeAll(async () => {
  project = await createProject({ "environment.mjs": ENVIRONMENT, "program.mjs": PROGRAM });
});
afterAll(() => project[Symbol.asyncDispose]());

/** The limit of a process that Node starts with this many megabytes, in bytes: it includes that of young objects. */
const limitOf = (megabytes: number): number => {
  const print = "console.log(require('v8').getHeapStatistics().heap_size_limit)";
  return Number(
    execFileSync(process.execPath, [`--max-old-space-size=${megabytes}`, "-e", print], { encoding: "utf8" }),
  );
};

function serve(...flags: string[]): Running {
  return startCommand(["serve", "environment.mjs", "--port", "0", ...flags], { cwd: project.dir });
}

async function openSession(server: Pick<Running, "printed">): Promise<TestSocket> {
  const [, url = ""] = await server.printed(/at (http:\S+)/);
  const socket = await openTestSocket(`${url}/ws`);
  await socket.ask({ type: "reset" });
  return socket;
}

async function step(socket: TestSocket, { keep = 0, waste = 0 }): Promise<number> {
  const frame = await socket.ask({ type: "step", data: { keep, waste } });
  return (frame as { data: { observation: { limit: number } } }).data.observation.limit;
}

test("--heap-mb limits the heap of each worker, and a worker that needs more is replaced", LIMIT, async () => {
  await using server = serve("--heap-mb", "200");
  await using socket = await openSession(server);
  expect(await step(socket, {})).toBe(limitOf(200));
  socket.send({ type: "step", data: { keep: 400, waste: 0 } });
  expect(await socket.closed).toMatchObject({ code: 1006 });
  await server.printed(/a worker exited/);
  await until(() =>
    fetch(`http://${new URL(socket.ws.url).host}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  await using fresh = await openSession(server);
  expect(await step(fresh, { keep: 20 })).toBe(limitOf(200));
});

test("serve() with heapMb starts a process for its one worker", LIMIT, async () => {
  await using server = startProgram(project.dir, [process.execPath, "program.mjs"]);
  await using socket = await openSession(server);
  expect(await step(socket, {})).toBe(limitOf(200));
});

test("a limit for threads and one for the process that they are in exclude each other", LIMIT, async () => {
  const flags = ["--heap-mb", "500", "--isolation", "thread", "--isolate-memory-mb", "100", "--log-level", "silent"];
  const { code, stderr } = await runCommand(["serve", "environment.mjs", "--port", "0", ...flags], {
    cwd: project.dir,
  });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/ISOLATE_MEMORY_MB is 100 and HEAP_MB is 500.*ISOLATION/s)]);
});

test("a server warns once when its sessions take more heap than it has for all that it accepts", LIMIT, async () => {
  await using server = serve("--heap-mb", "512", "--max-concurrent-envs", "5000");
  const sessions: TestSocket[] = [];
  const open = async (): Promise<void> => void sessions.push(await openSession(server));
  /** Allocates so much that V8 collects the whole heap several times. */
  const wasteAll = async (): Promise<void> => {
    for (const session of sessions) await step(session, { waste: 20 });
  };

  await open();
  for (let i = 0; i < 20; i++) await wasteAll();
  for (let i = 0; i < 15; i++) await open();
  // Neither what all sessions share nor garbage counts.
  for (let i = 0; i < 4; i++) await wasteAll();
  expect(server.stderr).not.toContain("no room");

  for (const session of sessions) await step(session, { keep: 4 });
  let warning: RegExpExecArray | undefined;
  void server
    .printed(
      /\{.*no room for 5000 sessions of ([\d.]+) MB or more: .* to at most (\d+), or HEAP_MB to at least (\d+).*\}/,
    )
    .then(
      (match) => (warning = match),
      () => {},
    );
  while (warning === undefined) await wasteAll();
  const [line, size, fits, heapMb] = warning;
  expect(JSON.parse(line)).toMatchObject({ level: 40, sessions: 16, capacity: 5000, sessionMb: Number(size) });
  // A session takes 4 MB in the end. The first megabytes do not count, and not all sessions may have theirs yet.
  expect(Number(size)).toBeLessThan(5);
  const room = 0.8 * limitOf(512) - 100 * 2 ** 20;
  expect((Number(fits) * Number(size) * 2 ** 20) / room).toBeCloseTo(1, 0);
  expect(Number(heapMb) / (5000 * Number(size))).toBeGreaterThan(1.2);
  for (const session of sessions) await step(session, { keep: 1 });
  for (let i = 0; i < 4; i++) await wasteAll();
  expect(server.stderr.match(/no room/g)).toHaveLength(1);
});
