import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROCESSES = 20;
/** Fewer than the ports between two processes: another program may use some of these. */
const EACH = 12;
const CHOOSE = `
import { findFreePort } from "openenv-ts/internal";
for (let i = 0; i < ${EACH}; i++) console.log(await findFreePort());
`;

test("processes that choose at the same time choose different ports", async () => {
  const run = () => promisify(execFile)(process.execPath, ["--input-type=module", "--eval", CHOOSE]);
  const outputs = await Promise.all(Array.from({ length: PROCESSES }, run));
  const ports = outputs.flatMap(({ stdout }) => stdout.trim().split("\n"));
  expect(ports).toHaveLength(PROCESSES * EACH);
  expect(new Set(ports).size).toBe(ports.length);
});
