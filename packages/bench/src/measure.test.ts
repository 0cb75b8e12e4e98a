import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { measureCpu, residentBytes } from "./measure.js";

/** Works for as many milliseconds as it is told, and says when it is done. */
const WORKER = `
process.stdin.on("data", (text) => {
  const before = process.cpuUsage();
  const used = () => { const { user, system } = process.cpuUsage(before); return (user + system) / 1000; };
  while (used() < Number(text));
  console.log("done");
});`;

describe.skipIf(!existsSync("/proc/self/stat"))("measureCpu", () => {
  it("counts the processor time of the other process and not of this one", async () => {
    const child = spawn(process.execPath, ["-e", WORKER], { stdio: ["pipe", "pipe", "inherit"] });
    const pid = child.pid as number;
    const work = async (milliseconds: number): Promise<void> => {
      child.stdin.write(String(milliseconds));
      await once(child.stdout, "data");
    };
    try {
      await work(1);
      const busy = await measureCpu(pid, () => work(300));
      expect(busy.cpuSeconds).toBeGreaterThanOrEqual(0.28);
      expect(busy.seconds).toBeGreaterThanOrEqual(0.28);
      const idle = await measureCpu(pid, async () => {
        const end = performance.now() + 300;
        while (performance.now() < end) await sleep(0);
      });
      expect(idle.cpuSeconds).toBeLessThan(busy.cpuSeconds / 2);
      expect(residentBytes(pid)).toBeGreaterThan(10e6);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("says that a process has ended", async () => {
    const child = spawn(process.execPath, ["-e", "0"]);
    await once(child, "close");
    await expect(measureCpu(child.pid as number, async () => {})).rejects.toThrow("has ended");
  });
});
