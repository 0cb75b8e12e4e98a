import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "openenv-ts/internal";
import { spawnChild } from "../../harness/children.mjs";

const REDIS = process.env.OPENENV_REDIS ?? "redis-server";

/** `{}`, or `{ missing }` with the reason. */
export function findRedis() {
  try {
    return execFileSync(REDIS, ["--version"], { encoding: "utf8" }).startsWith("Redis") ? {} : { missing: "no Redis" };
  } catch (error) {
    return { missing: `redis-server does not run: ${error.message.split("\n")[0]}` };
  }
}

/** A Redis that writes each command to a file of the folder before it answers. */
export async function startRedis(folder) {
  const port = await findFreePort();
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const command = [REDIS, "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, ...durable];
  let server;
  const start = async () => {
    server = spawnChild(command);
    for (const stream of [server.child.stdout, server.child.stderr]) stream.resume();
    while (!(await accepts(port))) await sleep(20);
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    /** Ends it by the signal, and starts it again with what it has written. */
    async restart(signal, awayMs) {
      const ended = once(server.child, "exit");
      server.child.kill(signal);
      await ended;
      await sleep(awayMs);
      await start();
      return true;
    },
    async suspend(forMs) {
      server.child.kill("SIGSTOP");
      await sleep(forMs);
      server.child.kill("SIGCONT");
      return true;
    },
    close: () => server.close(),
  };
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: "127.0.0.1" });
    const settle = (value) => {
      socket.destroy();
      resolve(value);
    };
    socket.once("connect", () => settle(true)).once("error", () => settle(false));
  });
}
