import { execFileSync } from "node:child_process";

/** How many descriptors a process that is started from here may open. */
export function descriptorLimit() {
  const limit = Number(execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" }));
  return Number.isInteger(limit) ? limit : 1_000_000;
}
