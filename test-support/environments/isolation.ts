/** An environment in a separate module and servers that isolate it; they run the built package, as isolates do. */
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { RunningServer, ServeOptions } from "openenv-ts/server";
import { createProject } from "../commands/command-line.js";
import { openTestSocket, type TestSocket } from "../sockets/socket.js";
import { serve } from "./built-server.js";

/** An action has an `op`, some have a `text`. Observations contain the process and thread of the environment. */
export const ISOLATED_MODULE = `
import { appendFileSync } from "node:fs";
import { threadId } from "node:worker_threads";
import { bytes, datetime, defineContract, defineEnvironment, EnvironmentError } from "openenv-ts";
import * as z from "zod";

const contract = defineContract({
  name: "hosted_env",
  action: z.object({
    op: z.string(), amount: z.number().default(1), bytes: bytes().optional(), at: datetime().optional(),
  }),
  observation: z.object({
    count: z.number(), pid: z.number(), thread: z.number(), text: z.string().default(""),
    bytes: bytes().optional(), at: datetime().optional(),
  }),
  state: z.object({ total: z.number() }),
  reset: z.object({ start: z.number().default(0) }),
});
const log = (text) => appendFileSync(new URL("./log.txt", import.meta.url), text + "\\n");
const kept = [];
class Own { toJSON() { return "own form"; } }

export default defineEnvironment(contract, async () => {
  let count = 0;
  let total = 0;
  let text = "";
  const here = (more) => ({ observation: { count, pid: process.pid, thread: threadId, text, ...more }, reward: count });
  const ops = {
    add: ({ amount }) => { count += amount; total += amount; },
    late: async ({ amount }) => { await new Promise((end) => setTimeout(end, 30)); count += amount; },
    throw: () => { throw new TypeError("unlucky"); },
    tell: () => { throw new EnvironmentError("told to the client"); },
    text: () => { throw "no error at all"; },
    bare: () => { throw Object.create(null); },
    named: () => { throw Object.assign(new Error("oddly named"), { name: () => "no text" }); },
    nan: () => ({ ...here(), reward: Number.NaN }),
    echo: ({ bytes, at }) => {
      text = [bytes instanceof Uint8Array, bytes?.length, at instanceof Date].join();
      return here({ bytes, at });
    },
    json: () => ({ ...here(), metadata: { own: new Own(), at: new Date(0), inf: [-0, Infinity] } }),
    function: () => ({ ...here(), metadata: { bad: () => 1 } }),
    cycle: () => {
      const twice = {};
      return { ...here(), metadata: Object.assign(twice, { one: twice, other: twice }) };
    },
    context: (action, { metadata, requestId }) => { text = JSON.stringify([metadata, requestId ?? null]); },
    wait: (action, { signal }) => new Promise((_, reject) => {
      log("waiting");
      signal.addEventListener("abort", () => { log("aborted: " + signal.reason.message); reject(signal.reason); });
    }),
    tick: async (action, { signal }) => {
      while (!signal.aborted) await new Promise((end) => setTimeout(end, 20));
      log("aborted: " + signal.reason.message);
    },
    never: () => new Promise(() => {}),
    loop: () => { log("looping"); for (;;); },
    exit: () => process.exit(7),
    stray: () => { setTimeout(() => { throw new Error("nobody catches this"); }, 0); return new Promise(() => {}); },
    heap: () => { for (;;) kept.push(new Array(100_000).fill({}).map((_, i) => ({ i }))); },
    // Slow enough to be observed: a server may allow more memory than the machine has.
    native: () => {
      const never = new Int32Array(new SharedArrayBuffer(4));
      for (;;) { kept.push(Buffer.alloc(8 * 1024 * 1024, 1)); Atomics.wait(never, 0, 0, 10); }
    },
  };
  return {
    reset({ start, seed, episodeId }) {
      if (start === -1) throw new Error("start must not be -1");
      count = start;
      text = [seed, typeof episodeId].join();
      return here();
    },
    step: async (action, context) => (await ops[action.op](action, context)) ?? here(),
    state: () => ({ total }),
    close: () => log("closed"),
  };
});
`;

export type IsolatedAnswer = {
  type: string;
  data: Record<string, unknown> & { observation?: Record<string, unknown> };
};

export interface IsolatedServer extends AsyncDisposable {
  readonly server: RunningServer;
  readonly url: URL;
  /** The lines that environments logged. */
  log(): string[];
  open(path?: string): Promise<TestSocket>;
  /** Opens and resets a session; returns its process and thread. */
  play(): Promise<{ socket: TestSocket; pid: number; thread: number }>;
}

/** Without isolation the environment runs in the process of the test. */
export async function startIsolated(options: ServeOptions = {}, source = ISOLATED_MODULE): Promise<IsolatedServer> {
  const project = await createProject();
  const file = await project.write("environment.mjs", source);
  const url = pathToFileURL(file);
  const { default: environment } = await import(url.href);
  const sockets: TestSocket[] = [];
  const server = await serve(environment, { port: 0, logLevel: "silent", graceMs: 200, module: url, ...options });
  const open = async (path = "/ws") => {
    const socket = await openTestSocket(server.url + path);
    sockets.push(socket);
    return socket;
  };
  return {
    server,
    url,
    open,
    log() {
      const place = new URL("./log.txt", url);
      return existsSync(place) ? readFileSync(place, "utf8").split("\n").filter(Boolean) : [];
    },
    async play() {
      const socket = await open();
      const { data } = (await socket.ask({ type: "reset" })) as IsolatedAnswer;
      const { pid, thread } = data.observation as { pid: number; thread: number };
      return { socket, pid, thread };
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) await socket[Symbol.asyncDispose]();
      await server.close();
      await project[Symbol.asyncDispose]();
    },
  };
}

export function step(op: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { type: "step", data: { op, ...more } };
}

/** Resolves when the process has ended; the timeout of the test applies. */
export async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 50));
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
