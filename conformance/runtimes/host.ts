/** Serves environments of environments.ts in the runtime that runs it, as lines of standard input wish. */
import { createInterface } from "node:readline";
import { type RunningServer, serve } from "openenv-ts/server";
import { findServed } from "../environments.js";
import type { Answer, Wish } from "./start-host.js";

const servers = new Map<number, RunningServer>();

for await (const line of createInterface({ input: process.stdin })) void answer(JSON.parse(line) as Wish);
process.exit(0);

async function answer({ id, server, act, name, options }: Wish): Promise<void> {
  let answer: Answer;
  try {
    answer = { id, result: act === "start" ? await start(server, name, options) : await ask(server, act) };
  } catch (error) {
    answer = { id, error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

async function start(id: number, name = "", options: Wish["options"] = {}): Promise<string> {
  const { environment, options: own } = findServed(name);
  const quiet = { host: "127.0.0.1", port: 0, logLevel: "silent" } as const;
  const server = await serve(environment, { webInterface: false, ...own, ...quiet, ...options });
  servers.set(id, server);
  return server.url;
}

function ask(id: number, act: "capacity" | "sessions" | "close"): unknown {
  return servers.get(id)?.[act]();
}
