import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The result of some work, its wall time, and the CPU time of another process during it. */
export interface Measurement<T> {
  result: T;
  seconds: number;
  cpuSeconds: number;
}

/**
 * Runs `work` and measures the CPU time of process `pid` (all its threads) during it.
 * @throws Error without /proc, and for a process that has exited.
 */
export async function measureCpu<T>(pid: number, work: () => Promise<T>): Promise<Measurement<T>> {
  const started = performance.now();
  const before = cpuSeconds(pid);
  const result = await work();
  return { result, cpuSeconds: cpuSeconds(pid) - before, seconds: (performance.now() - started) / 1000 };
}

/** User and system time of a process so far, in seconds. */
export function cpuSeconds(pid: number): number {
  // The name in parentheses may contain spaces; the state is the first field after it.
  const fields = readProc(pid, "stat")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond();
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readProc(pid, "status"))?.[1] ?? Number.NaN) * 1024;
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch (cause) {
    throw new Error(`Cannot measure process ${pid}: it has exited, or this system has no /proc.`, { cause });
  }
}

let ticks = 0;

function ticksPerSecond(): number {
  return (ticks ||= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })));
}
