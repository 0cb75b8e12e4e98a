import { probePort } from "../packages/openenv/src/util/free-port.js";

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

function isFree(port: number): Promise<boolean> {
  return probePort("127.0.0.1", port).then(
    () => true,
    () => false,
  );
}
