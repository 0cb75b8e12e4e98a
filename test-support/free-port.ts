import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ephemeral ports and those of `openenv-ts`: no other socket gets these ports. */
const LOWEST = 12_000;
/** Each test process uses a range of this many ports. */
const EACH = 1_000;
const first = LOWEST + EACH * (Number(process.env["VITEST_POOL_ID"] ?? 0) % 12);
// Start at different ports: those of an earlier test file may still be closing.
let next = process.pid % EACH;

/** A free port of the loopback address, for programs that cannot choose one; no other test uses it. */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < EACH; tries++) {
    next = (next + 1) % EACH;
    if (await isFree(first + next)) return first + next;
  }
  throw new Error(`no port from ${first} to ${first + EACH - 1} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  const listens = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (listens) await once(server.close(), "close");
  return listens;
}
