/** Programs that try to stay: after their step, their session, or outside of their limits. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { findCgroups } from "./sandbox/cgroup.js";
import { readConfig } from "./server/config.js";
import { COUNT_OTHERS, useAttacker } from "./test-support/attack.js";
import { processesMarked, sandboxMarks } from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();
const { limits, total } = readConfig({});
const cgroups = await findCgroups(limits, total);

describe.skipIf(!bubblewrap.available)("a program that stays", { timeout: 120_000 }, () => {
  const { open } = useAttacker();

  test("a daemon that left its session is gone after the step, and a closed session leaves no process", async () => {
    const before = new Set(sandboxMarks());
    const session = await open();
    const daemon = `import os, time
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0:
    for fd in range(256):
      try: os.close(fd)
      except OSError: pass
    time.sleep(600)
  os._exit(0)
print("started")`;
    expect((await session.run(daemon)).stdout).toBe("started\n");
    expect((await session.run(COUNT_OTHERS)).stdout).toBe("0\n");
    const [mark = "none", ...more] = sandboxMarks().filter((known) => !before.has(known));
    expect(more).toEqual([]);
    expect(processesMarked(mark).length).toBeGreaterThan(0);
    const closing = session.run(`${daemon}\ntime.sleep(600)`).catch(() => {});
    await session.env.close();
    await closing;
    expect(processesMarked(mark)).toEqual([]);
  });

  test("where cgroups can be made, they bound all processes of a sandbox together, and go with it", async ({
    skip,
  }) => {
    if (!cgroups) skip("cgroups cannot be made here");
    const before = new Set(sandboxMarks());
    const session = await open();
    await session.run("1");
    const mark = sandboxMarks().find((known) => !before.has(known)) ?? "none";
    const groups = processesMarked(mark).map((pid) => readFileSync(`/proc/${pid}/cgroup`, "utf8"));
    const names = groups.map((text) => /openenv-sandbox-\S+/.exec(text)?.[0]);
    expect(names.length).toBeGreaterThanOrEqual(2);
    expect(new Set(names).size).toBe(1);
    expect(names[0]).toBeDefined();
    const paths = groups[0]?.split("\n").filter((row) => row.includes("openenv-sandbox-")) ?? [];
    const folders = paths.map((row) => {
      const [, tree = "", path = ""] = row.split(":");
      return join("/sys/fs/cgroup", tree, path);
    });
    expect(folders.some(existsSync)).toBe(true);
    await session.env.close();
    expect(folders.some(existsSync)).toBe(false);
  });

  test("what is left running takes no processor time between two steps", async () => {
    const spin =
      "import threading\ndef spin():\n  while True: pass\nthreading.Thread(target=spin, daemon=True).start()";
    const before = new Set(sandboxMarks());
    const session = await open();
    expect((await session.run(spin)).outcome).toBe("ok");
    const mark = sandboxMarks().find((known) => !before.has(known)) ?? "none";
    const stateOf = (pid: number) => /State:\t(\w)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    await expect.poll(() => processesMarked(mark).map(stateOf), { timeout: 10_000 }).toContain("T");
    expect((await session.run("print(1)")).stdout).toBe("1\n");
    await session.env.close();
    expect(processesMarked(mark)).toEqual([]);
  });
});
