import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "vitest";

const run = promisify(execFile);
/** Counts ended processes, too: a process keeps its name until it is reaped. */
const COUNT = "grep -l '^Name:.sleep$' /proc/[0-9]*/status | wc -l";

/** Leaves five orphans in a container and kills them; resolves when the container's first process has reaped them. */
export async function leaveBehind(docker: string, container: string): Promise<void> {
  const shell = async (script: string): Promise<string> =>
    (await run(docker, ["exec", container, "sh", "-c", script])).stdout.trim();
  const left = await shell("for i in 1 2 3 4 5; do (/bin/sleep 600 >/dev/null 2>&1 & echo $!); done");
  await expect.poll(() => shell(COUNT)).toBe("5");
  await shell(`kill ${left.split("\n").join(" ")}`);
  await expect.poll(() => shell(COUNT), { timeout: 60_000 }).toBe("0");
}
