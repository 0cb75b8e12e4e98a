import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "../free-port.js";

export interface TestRedis extends AsyncDisposable {
  url: string;
  /** Kills it; {@link start} brings it back with what it had written. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Lets it answer nothing, until {@link resume}. */
  suspend(): void;
  resume(): void;
  /** Removes all keys. */
  clear(): Promise<void>;
  /** Sets after how many bytes it is full, 0: never, and what it does then. */
  limit(bytes: number, policy?: string): Promise<void>;
}

/** Each command is in a file before it is answered. */
const DURABLE = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];

/** A Redis server with these arguments. */
export async function startRedis(
  command: string,
  more: readonly string[] = [],
  first: readonly string[] = DURABLE,
): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "openenv-redis-"));
  const port = await findFreePort();
  let child: ReturnType<typeof spawn> | undefined;
  const start = async (): Promise<void> => {
    const args = ["--port", String(port), "--dir", folder, ...first, ...more];
    child = spawn(command, args, { stdio: "ignore" });
    while (!(await accepts(port))) await sleep(20);
  };
  const stop = async (): Promise<void> => {
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    child = undefined;
    await ended;
  };
  const send = async (line: string): Promise<void> => {
    const socket = createConnection({ port, host: "127.0.0.1" }).end(`${line}\r\n`).resume();
    await once(socket, "close");
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    suspend: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    clear: () => send("FLUSHALL"),
    limit: (bytes, policy = "noeviction") => send(`CONFIG SET maxmemory ${bytes} maxmemory-policy ${policy}`),
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
