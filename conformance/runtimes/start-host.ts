import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import type { ServeOptions } from "openenv-ts/server";
import { SHORT } from "../environments.js";
import type { StagedServer, Starter } from "../replay/stage.js";

export interface Wish {
  id: number;
  /** The number of the server. */
  server: number;
  act: "start" | "capacity" | "sessions" | "close";
  /** Of the environment to start. */
  name?: string;
  options?: ServeOptions;
}

export type Answer = { id: number; result: unknown } | { id: number; error: string };

/** Starts servers in one process of another runtime. `command` runs a script with it. */
export async function startHost(command: readonly string[]): Promise<Starter & AsyncDisposable> {
  const script = `${import.meta.dirname}/../../.cache/conformance/host-${process.pid}.mjs`;
  const entry = `${import.meta.dirname}/host.ts`;
  await build({ entryPoints: [entry], outfile: script, bundle: true, packages: "external", format: "esm" });
  const [file = "", ...args] = command;
  const child = spawn(file, [...args, script], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const waiting = new Map<number, (answer: Answer) => void>();
  createInterface(child.stdout).on("line", (line) => {
    const answer = JSON.parse(line) as Answer;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  void exited.then(([code]) => {
    for (const [id, end] of waiting) end({ id, error: `${file} ended with ${code}` });
  });
  let count = 0;
  const ask = async (wish: Omit<Wish, "id">): Promise<unknown> => {
    const id = ++count;
    child.stdin.write(`${JSON.stringify({ id, ...wish } satisfies Wish)}\n`);
    const answer = await new Promise<Answer>((resolve) => waiting.set(id, resolve));
    if ("error" in answer) throw new Error(answer.error);
    return answer.result;
  };
  return {
    idleMs: 3 * SHORT * 1_000,
    async start(name, options): Promise<StagedServer> {
      const server = ++count;
      const url = (await ask({ server, act: "start", name, options })) as string;
      return {
        url,
        capacity: () => ask({ server, act: "capacity" }) as Promise<{ active_sessions: number }>,
        sessions: () => ask({ server, act: "sessions" }) as Promise<{ attached: boolean }[]>,
        close: () => ask({ server, act: "close" }) as Promise<void>,
      };
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}
