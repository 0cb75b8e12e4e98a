import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What a piece of work gave, the wall time it took, and the processor time another process spent meanwhile. */
export interface Measurement<T> {
  result: T;
  seconds: number;
  cpuSeconds: number;
}

/**
 * Runs `work` and reads from the operating system what process `pid` (all its threads) spent meanwhile.
 * @throws Error where there is no /proc, and for a process that has ended.
 */
export async function measureCpu<T>(pid: number, work: () => Promise<T>): Promise<Measurement<T>> {
  const started = performance.now();
  const before = cpuSeconds(pid);
  const result = await work();
  return { result, cpuSeconds: cpuSeconds(pid) - before, seconds: (performance.now() - started) / 1000 };
}

/** User and system time of a process so far, in seconds. */
export function cpuSeconds(pid: number): number {
  // The name before the last parenthesis may hold spaces; state is the first field after it.
  const fields = readProc(pid, "stat")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond();
}

/** Physical memory a process holds, in bytes. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readProc(pid, "status"))?.[1] ?? Number.NaN) * 1024;
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch (cause) {
    throw new Error(`cannot measure process ${pid}: it has ended, or this system has no /proc`, { cause });
  }
}

let ticks = 0;

function ticksPerSecond(): number {
  return (ticks ||= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })));
}
