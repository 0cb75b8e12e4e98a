/** Programs that take all there is of the machine: time, memory, processes, files, output. */
import { connect } from "openenv-ts/client";
import { beforeEach, describe, expect, test } from "vitest";
import { startCommand } from "../../test-support/commands/command-line.js";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { coding } from "./models.js";
import { findCgroups } from "./sandbox/cgroup.js";
import { FILES } from "./sandbox/limits.js";
import { readConfig } from "./server/config.js";
import { COUNT_OTHERS, useAttacker } from "./test-support/attack.js";
import { openSession, prepareCoding } from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();
const { limits, total } = readConfig({});
const cgroups = await findCgroups(limits, total);

/** Seconds that a step may take where it is to run into that limit. */
const SHORT = 5;

describe.skipIf(!bubblewrap.available)("a program that does not end", { timeout: 120_000 }, () => {
  const { attack, run } = useAttacker(SHORT);

  test("a fork bomb is stopped at its time limit, and all of it is gone", async () => {
    const bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass";
    const result = await attack(bomb);
    expect(result).toMatchObject({ outcome: "timeout", exit_code: 124, state_lost: true, reward: 0 });
    expect((await run(COUNT_OTHERS)).stdout).toBe("0\n");
  });

  test("a fork bomb that fails leaves nothing behind for the next step", async () => {
    const result = await attack("import os\nwhile True: os.fork()");
    expect(result.outcome).toMatch(/error|timeout/);
    expect((await run(COUNT_OTHERS)).stdout).toBe("0\n");
  });

  test("an endless loop is stopped, and the answer says what is lost", async () => {
    const result = await attack("print('began')\nwhile True: pass");
    expect(result).toMatchObject({ stdout: "began\n", exit_code: 124, outcome: "timeout", state_lost: true });
    expect(result.stderr).toContain(`longer than ${SHORT} s`);
    expect(result.stderr).toContain("variables and imports are lost");
    expect((await run("kept")).stderr).toContain("NameError");
  });

  test("an endless loop that ignores every signal and error is stopped", async () => {
    const code = `import signal
for number in range(1, 65):
  try: signal.signal(number, signal.SIG_IGN)
  except (OSError, ValueError): pass
while True:
  try:
    while True: pass
  except BaseException: pass`;
    expect((await attack(code)).outcome).toBe("timeout");
  });
});

describe.skipIf(!bubblewrap.available)("a program that wants too much", { timeout: 120_000 }, () => {
  const { attack, run } = useAttacker();

  test("threads have a limit", async () => {
    const result = await attack(
      "import threading, time\nfor _ in range(1000): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()",
    );
    expect(result.stderr).toContain("can't start new thread");
  });

  test("an allocation of 1 GB fails, and the session keeps its variables", async () => {
    const result = await attack("block = bytearray(1 << 30)");
    expect(result).toMatchObject({ exit_code: 1, outcome: "error", state_lost: false });
    expect(result.stderr).toContain("MemoryError");
    expect((await run("print(kept)")).stdout).toBe("kept\n");
  });

  test("an allocation by many processes does not take the machine's memory", async () => {
    const code = `import os, time
for _ in range(20):
  if os.fork() == 0:
    block = bytearray(100 << 20)
    time.sleep(1)
    os._exit(0)
for _ in range(20):
  try: os.wait()
  except ChildProcessError: break`;
    const result = await attack(code);
    expect(["ok", "error", "died", "timeout"]).toContain(result.outcome);
  });

  test("files have a number, and a million empty ones take none of the kernel's memory", async () => {
    const code = `import os
made = 0
for folder in ("/tmp", "/dev/shm"):
  try:
    for made in range(1_000_000): os.close(os.open(f"{folder}/{made}", os.O_CREAT))
  except OSError as error: print(made, error.strerror)`;
    const result = await attack(code);
    const rows = result.stdout
      .trim()
      .split("\n")
      .map((row) => row.split(/ (.*)/).slice(0, 2));
    expect(rows.map(([, reason]) => reason)).toEqual(["No space left on device", "No space left on device"]);
    for (const [made] of rows) expect(Number(made)).toBeLessThan(FILES);
  });

  test("files have a size, and so have all files together", async () => {
    const one = await attack("with open('big', 'wb') as f: f.write(bytes(100 << 20))");
    expect(one.stderr).toMatch(/File too large|No space left/);
    const code = `for n in range(10):
  with open(f'part{n}', 'wb') as f: f.write(bytes(20 << 20))`;
    expect((await attack(code)).stderr).toContain("No space left");
    expect((await attack("open('/dev/shm/x', 'wb').write(bytes(100 << 20))")).stderr).toMatch(/too large|No space/);
  });
});

/**
 * Forks processes that take 64 MB each, waits until each has its own or has ended, and keeps them for some seconds; prints
 * how many got theirs.
 */
const HOLD = `import os, signal, time
read, write = os.pipe()
children = []
for _ in range(3):
  child = os.fork()
  if child == 0:
    block = bytearray(b"x" * (64 << 20))
    os.write(write, b"x")
    time.sleep(60)
    os._exit(0)
  children.append(child)
os.close(write)
os.set_blocking(read, False)
got = ended = 0
while got + ended < 3:
  try: got += len(os.read(read, 10))
  except BlockingIOError: pass
  if os.waitpid(-1, os.WNOHANG)[0]: ended += 1
  time.sleep(0.05)
time.sleep(8)
for child in children:
  try: os.kill(child, signal.SIGKILL)
  except ProcessLookupError: pass
print(got)`;

/** Prints how many processes it could start that stay. */
const COUNT_FORKS = `import os, time
count = 0
try:
  for count in range(60):
    if os.fork() == 0: time.sleep(60); os._exit(0)
except OSError: pass
time.sleep(8)
print(count)`;

describe.skipIf(!bubblewrap.available)("all sandboxes", { timeout: 120_000 }, () => {
  beforeEach(({ skip }) => {
    if (!cgroups?.bounds.has("memory"))
      skip("cgroups cannot bound memory here: the limits over all sandboxes need them");
  });

  test("have one limit on their memory, which other groups do not feel", async () => {
    const { environment } = await prepareCoding({ SANDBOX_TOTAL_MEMORY_MB: "224" });
    await using bystander = await openSession((await prepareCoding()).environment);
    await bystander.run("kept = 1");
    const sessions = await Promise.all([openSession(environment), openSession(environment)]);
    await Promise.all(sessions.map(({ run }) => run("1")));
    // The limit of each alone would let it have all.
    const result = await Promise.all(sessions.map(({ run }) => run(HOLD)));
    const held = result.map(({ outcome, stdout }) => (outcome === "ok" ? Number(stdout) : 0));
    expect((held[0] ?? 0) + (held[1] ?? 0)).toBeLessThan(4);
    expect((await bystander.run("print(kept)")).stdout).toBe("1\n");
    await Promise.all(sessions.map(({ env }) => env.close()));
    await using alone = await openSession((await prepareCoding()).environment);
    expect((await alone.run(HOLD)).stdout).toBe("3\n");
  });

  test("have one limit on memory and processes over all workers of a server", async () => {
    const folder = import.meta.dirname;
    const env = {
      SANDBOX_BUBBLEWRAP: bubblewrap.path,
      MAX_CONCURRENT_ENVS: "1",
      SANDBOX_TOTAL_MEMORY_MB: "224",
      SANDBOX_TOTAL_PROCESSES: "40",
    };
    await using running = startCommand(["serve", folder, "--port", "0", "--workers", "2"], { cwd: folder, env });
    const [, url = ""] = await running.printed(/at (http:\/\/[\w.:]+)/);
    // Each worker has room for one.
    await using one = await connect(url, coding);
    await using two = await connect(url, coding);
    const runBoth = async (code: string): Promise<string[]> => {
      const both = [one, two].map(async (session) => (await session.step({ code })).observation.stdout);
      return await Promise.all(both);
    };
    for (const session of [one, two]) await session.reset();
    // Both interpreters run before either takes processes: the faster one may leave none for the other.
    await runBoth("1");
    const counts = await runBoth(COUNT_FORKS);
    for (const count of counts) expect(count).toMatch(/^\d+\n$/);
    const forks = counts.reduce((sum, count) => sum + Number(count), 0);
    expect(forks).toBeGreaterThan(0);
    expect(forks).toBeLessThanOrEqual(40);
    for (const session of [one, two]) await session.reset();
    const held = (await runBoth(HOLD)).map(Number);
    expect((held[0] ?? 0) + (held[1] ?? 0)).toBeLessThan(4);
  });

  test("have one limit on their processes", async () => {
    const { environment } = await prepareCoding({ SANDBOX_TOTAL_PROCESSES: "40" });
    const sessions = await Promise.all([openSession(environment), openSession(environment)]);
    await Promise.all(sessions.map(({ run }) => run("1")));
    const result = await Promise.all(sessions.map(({ run }) => run(COUNT_FORKS)));
    const counts = result.map(({ stdout }) => Number(stdout));
    expect(counts.every((count) => count >= 0 && count < 40)).toBe(true);
    expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBeLessThanOrEqual(40);
    await Promise.all(sessions.map(({ env }) => env.close()));
  });
});

describe.skipIf(!bubblewrap.available)("1 GB of output", { timeout: 120_000 }, () => {
  test("is cut, and the server's memory stays bounded while it reads", async () => {
    const { environment } = await prepareCoding({ SANDBOX_TIMEOUT: "90" });
    await using session = await openSession(environment);
    await session.run("1");
    let most = 0;
    const before = process.memoryUsage().rss;
    const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
    const code = "import os\nfor _ in range(1 << 14): os.write(1, b'x' * 65536)\nprint('the end')";
    const result = await session.run(code);
    clearInterval(timer);
    expect(result).toMatchObject({ truncated: true, outcome: "ok", exit_code: 0 });
    expect(result.stdout.length).toBeLessThan(10_200);
    expect(result.stdout).toMatch(/^x+\n\[\.\.\. more than 10\d+ bytes left out \.\.\.\]\nx+the end\n$/);
    expect(most - before).toBeLessThan(256 * 1024 * 1024);
    expect((await session.run("print(1)")).stdout).toBe("1\n");
  });
});
