import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "vitest";

const run = promisify(execFile);
/** Of those that have ended, too: until one is reaped, it keeps its name. */
const COUNT = "grep -l '^Name:.sleep$' /proc/[0-9]*/status | wc -l";

/** Leaves five processes without a parent in a container; resolves when its first process has reaped all of them. */
export async function leaveBehind(docker: string, container: string): Promise<void> {
  const shell = async (script: string): Promise<number> =>
    Number((await run(docker, ["exec", container, "sh", "-c", script])).stdout);
  expect(await shell(`for i in 1 2 3 4 5; do (/bin/sleep 1 >/dev/null 2>&1 &); done; ${COUNT}`)).toBe(5);
  await expect.poll(() => shell(COUNT), { timeout: 60_000 }).toBe(0);
}
