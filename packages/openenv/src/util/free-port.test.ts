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
for (let i = 0; i < Number(process.argv[1]); i++) console.log(await findFreePort());
`;

async function choose(count: number): Promise<string[]> {
  const args = ["--input-type=module", "--eval", CHOOSE, "--", String(count)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trim().split("\n");
}

test("processes that choose at the same time choose different ports, also next to one that chooses many", async () => {
  const counts = [MANY, ...Array.from({ length: PROCESSES }, () => EACH)];
  const ports = (await Promise.all(counts.map(choose))).flat();
  expect(ports).toHaveLength(MANY + PROCESSES * EACH);
  expect(new Set(ports).size).toBe(ports.length);
});
