import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROCESSES = 20;
/** Fewer than the ports between two processes: another program may use some of these. */
const EACH = 12;
/** As a server with hundreds of upstream processes does. */
const MANY = 400;
const CHOOSE = `
import { findFreePort } from "openenv-ts/internal";
console.log(process.pid);
for (let i = 0; i < Number(process.argv[1]); i++) console.log(await findFreePort());
`;

/** The number of the process, then its ports. */
async function choose(count: number): Promise<string[]> {
  const args = ["--input-type=module", "--eval", CHOOSE, "--", String(count)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trim().split("\n");
}

test("processes that choose at the same time choose different ports, also next to one that chooses many", async () => {
  const counts = [MANY, ...Array.from({ length: PROCESSES }, () => EACH)];
  const chosen = await Promise.all(counts.map(choose));
  for (const [at, [, ...own]] of chosen.entries()) expect(new Set(own).size).toBe(counts[at]);
  // The numbers of processes have gaps on a busy machine, and 500 further on the ports begin again.
  const promised = [...new Map(chosen.map(([pid, ...own]) => [Number(pid) % 500, own])).values()];
  expect(promised.length).toBeGreaterThan(PROCESSES / 2);
  expect(new Set(promised.flat()).size).toBe(promised.flat().length);
}, 120_000);
