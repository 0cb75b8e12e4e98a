/** Servers of the built command line, with one or more workers, whose environment returns its process. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { delimiter, dirname } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type EnvClient } from "openenv-ts/client";
import { type CommandOptions, createProject, type Running, startCommand } from "../commands/command-line.js";
import { workerSockets } from "../commands/processes.js";
import { AS_OPERATOR, fetchAsOperator, OPERATOR_VARIABLES } from "../operator.js";
import { openTestSocket, type TestSocket } from "../sockets/socket.js";

/**
 * An environment that returns its process. Amounts: 13 ends that process, 14 blocks it for ever, 15 answers when the
 * session ends, 16 answers with a megabyte, 17 answers after half a second, 18 takes more and more memory, 19 answers
 * with 100,000 bytes.
 * It fails to start while the file named by `BROKEN` exists, and hangs before it serves while that of `STUCK` exists.
 * While the file named by `TOLD` exists, it waits for the message of its supervisor that the server is paused.
 */
export const WHERE = `
import { bytes, defineContract, defineEnvironment, defineTools } from "openenv-ts";
import { existsSync } from "node:fs";
import * as z from "zod";
if (existsSync(process.env.BROKEN ?? "")) process.exit(3);
if (existsSync(process.env.STUCK ?? "")) await new Promise(() => setInterval(() => {}, 60_000));
if (existsSync(process.env.TOLD ?? "")) {
  await new Promise((resolve) => process.on("message", ({ about }) => about?.what === "pause" && resolve()));
}
const where = defineContract({
  name: "where_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ pid: z.int(), count: z.int(), made: z.int(), closed: z.int(), steps: z.int(), text: z.string(), image: bytes().optional() }),
  tools: defineTools({ count: { description: "Returns the count.", output: z.int() } }),
});
const held = [];
let made = 0;
let closed = 0;
let steps = 0;
export default defineEnvironment(where, () => {
  let count = 0;
  made++;
  const look = (text = "") => ({ pid: process.pid, count, made, closed, steps, text });
  return {
    reset: () => {
      count = 0;
      return { observation: look() };
    },
    step: ({ amount }, { signal }) => {
      if (amount === 13) process.exit(1);
      if (amount === 14) for (;;);
      if (amount === 15) return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      if (amount === 18) return new Promise(() => setInterval(() => held.push(Buffer.alloc(8 * 1024 * 1024, 1)), 20));
      count += amount;
      steps++;
      if (amount === 17) return new Promise((resolve) => setTimeout(() => resolve({ observation: look() }), 500));
      if (amount === 19 || amount === 20) return { observation: { ...look(), image: new Uint8Array(amount === 20 ? 5_000_000 : 1_000_000).fill(count) } };
      return { observation: look(amount === 16 ? "x".repeat(1_000_000) : ""), reward: count };
    },
    snapshot: () => count,
    restore: (saved) => {
      count = saved;
    },
    close: () => {
      closed++;
    },
    tools: { count: () => count },
  };
});
`;

export interface TestCluster extends AsyncDisposable {
  url: string;
  command: Running;
  /** The counts, as known to the worker that accepts the connection. */
  capacity(): Promise<Counts>;
}

interface Counts {
  active_sessions: number;
  max_sessions: number;
  available_slots: number;
  is_at_capacity: boolean;
}

interface ClusterOptions extends Pick<CommandOptions, "openFiles" | "detached"> {
  /** What serves, and its executable. */
  runtime?: { name: string; path: string };
  port?: number;
  /** The source of its environment; default {@link WHERE}. */
  environment?: string;
}

/** Serves an environment with the built command line and these variables. */
export async function startCluster(
  env: Record<string, string>,
  { runtime, port = 0, environment = WHERE, ...options }: ClusterOptions = {},
): Promise<TestCluster> {
  const project = await createProject({ "environment.mjs": environment });
  const at = runtime === undefined ? [] : ["--runtime", runtime.name];
  const PATH = `${dirname(runtime?.path ?? "")}${delimiter}${process.env["PATH"]}`;
  const command = startCommand(["serve", "environment.mjs", "--port", String(port), ...at], {
    cwd: project.dir,
    env: { ...OPERATOR_VARIABLES, ...env, ...(runtime && { PATH }) },
    ...options,
  });
  const [, url = ""] = await command.printed(/at (http:\S+)/);
  return {
    url,
    command,
    capacity: () => capacityAt(url),
    async [Symbol.asyncDispose]() {
      command.process.kill("SIGTERM");
      await command.exited;
      await project[Symbol.asyncDispose]();
    },
  };
}

export const RESET = { type: "reset" };
export const step = (amount: number) => ({ type: "step", data: { amount } });
const pidOf = (frame: Record<string, unknown>): number =>
  (frame as { data: { observation: { pid: number } } }).data.observation.pid;

export async function openAll(url: string, count: number): Promise<{ socket: TestSocket; pid: number }[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = await openTestSocket(`${url}/ws`);
      return { socket, pid: pidOf(await socket.ask(RESET)) };
    }),
  );
}

/**
 * Opens sessions, one after the other, until there are 8 and both workers have one: a worker that has accepted all
 * connections passes none on before it is full. Returns the last 8, closes the others.
 */
export async function openAtBothWorkers(url: string): Promise<{ env: EnvClient; pid: number }[]> {
  const opened: { env: EnvClient; pid: number }[] = [];
  while (opened.length < 8 || opened.every(({ pid }) => pid === opened[0]?.pid)) {
    const env = await connect(url, { resume: true });
    opened.push({ env, pid: (await env.reset()).observation["pid"] as number });
  }
  await Promise.all(opened.splice(0, opened.length - 8).map(({ env }) => env.close()));
  return opened;
}

async function capacityAt(url: string): Promise<Counts> {
  const response = await fetchAsOperator(`${url}/sessions`, { connection: "close" });
  return ((await response.json()) as { capacity: Counts }).capacity;
}

/** Polls until every worker at this address reports these counts: a worker's data about the others may be old. */
export async function untilAllKnow(url: string, counts: Partial<Counts>): Promise<void> {
  const names = Object.keys(counts) as (keyof Counts)[];
  await until(async () => {
    const answers = await askEachWorker(url, "/sessions", AS_OPERATOR);
    return answers.every(({ status, body }) => {
      if (status !== 200) return false;
      const { capacity } = JSON.parse(body) as { capacity: Counts };
      return names.every((name) => capacity[name] === counts[name]);
    });
  });
}

/**
 * Sends a GET request to each worker at this address; the status is 0 if a worker starts or ends. Each is reached at
 * its own local socket, because one worker may accept all connections to the address. Without /proc, which is needed to
 * find these sockets, many connections are made at once.
 */
export function askEachWorker(
  url: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: string }[]> {
  const found = workerSockets(url).map((socketPath) => ({ socketPath }));
  const { hostname: host, port } = new URL(url);
  const places = found.length > 0 ? found : Array.from({ length: 16 }, () => ({ host, port }));
  return Promise.all(
    places.map(async (place) => {
      try {
        const asked = request({ ...place, path, headers, agent: false }).end();
        const [answer] = (await once(asked, "response")) as [IncomingMessage];
        return { status: answer.statusCode ?? 0, body: await text(answer) };
      } catch {
        return { status: 0, body: "" };
      }
    }),
  );
}

/** Polls; fails after a minute: workers start one after the other, possibly on a busy machine. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition was not met within 60 s");
    await sleep(20);
  }
}
