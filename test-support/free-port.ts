import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that the system gives to who asks for any: what is free here is not taken by such a one meanwhile. */
const LOWEST = 12_000;
/** Each process that runs test files at the same time has as many. */
const EACH = 1_000;
const first = LOWEST + EACH * (Number(process.env["VITEST_POOL_ID"] ?? 0) % 20);
// Not the ports of the test file before, which may still be closing.
let next = process.pid % EACH;

/** A port of the loopback address for what cannot choose one itself; no other test has it. */
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
