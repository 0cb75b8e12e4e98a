/** Programs that attack the machine, the server and other sessions, each in a real sandbox. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { requireBubblewrap } from "../../openenv/test-support/requirement.js";
import { findCgroups } from "./sandbox/cgroup.js";
import { readConfig } from "./server/config.js";
import {
  type Coding,
  openSession,
  prepareCoding,
  processesMarked,
  type Session,
  sandboxMarks,
} from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();

describe.skipIf(!bubblewrap.available)("a program that attacks", { timeout: 60_000 }, () => {
  let environment: Coding;
  let attacker: Session;
  let bystander: Session;
  let host: string;

  beforeAll(async () => {
    process.env["CODING_TEST_SECRET"] = "a secret of the server";
    const limits = { SANDBOX_MEMORY_MB: "256", SANDBOX_PROCESSES: "32" };
    environment = (await prepareCoding({ ...limits, SANDBOX_TIMEOUT: "3" })).environment;
    const patient = (await prepareCoding(limits)).environment;
    host = await mkdtemp(join(tmpdir(), "coding-host-"));
    bystander = await openSession(patient);
    await bystander.run("count = 0");
    await bystander.run("let count = 0", "javascript");
  });
  beforeEach(async () => {
    attacker = await openSession(environment);
    await attacker.run("kept = 'kept'");
    return () => attacker.env.close();
  });
  afterAll(async () => {
    await bystander?.env.close();
    await rm(host, { recursive: true, force: true });
  });

  /** Runs it while another session takes steps; both must be well afterwards. */
  async function attack(code: string) {
    let counted = 0;
    let over = false;
    const attacked = attacker.run(code).finally(() => (over = true));
    while (!over) {
      counted = Number((await bystander.run("count += 1\nprint(count)")).stdout);
      await bystander.run("count += 1", "javascript");
    }
    const told = await attacked;
    expect((await bystander.run("print(count)")).stdout).toBe(`${counted}\n`);
    const next = await attacker.run("print('still here')");
    expect(next).toMatchObject({ stdout: "still here\n", stderr: "", exit_code: 0 });
    return told;
  }

  test("a fork bomb is stopped at its time limit, and all of it is gone", async () => {
    const bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass";
    const told = await attack(bomb);
    expect(told).toMatchObject({ outcome: "timeout", exit_code: 124, state_lost: true, reward: 0 });
    expect((await attacker.run(COUNT_OTHERS)).stdout).toBe("0\n");
  });

  test("a fork bomb that fails leaves nothing behind for the next step", async () => {
    const told = await attack("import os\nwhile True: os.fork()");
    expect(told.outcome).toMatch(/error|timeout/);
    expect((await attacker.run(COUNT_OTHERS)).stdout).toBe("0\n");
  });

  test("threads have a limit", async () => {
    const told = await attack(
      "import threading, time\nfor _ in range(1000): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()",
    );
    expect(told.stderr).toContain("can't start new thread");
  });

  test("an endless loop is stopped, and the answer says what is lost", async () => {
    const told = await attack("print('began')\nwhile True: pass");
    expect(told).toMatchObject({ stdout: "began\n", exit_code: 124, outcome: "timeout", state_lost: true });
    expect(told.stderr).toContain("longer than 3 s");
    expect(told.stderr).toContain("variables and imports are lost");
    expect((await attacker.run("kept")).stderr).toContain("NameError");
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

  test("an allocation of 1 GB fails, and the session keeps its variables", async () => {
    const told = await attack("block = bytearray(1 << 30)");
    expect(told).toMatchObject({ exit_code: 1, outcome: "error", state_lost: false });
    expect(told.stderr).toContain("MemoryError");
    expect((await attacker.run("print(kept)")).stdout).toBe("kept\n");
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
    const told = await attack(code);
    expect(["ok", "error", "died", "timeout"]).toContain(told.outcome);
  });

  test("files have a size, and so have all files together", async () => {
    const one = await attack("with open('big', 'wb') as f: f.write(bytes(100 << 20))");
    expect(one.stderr).toMatch(/File too large|No space left/);
    const code = `for n in range(10):
  with open(f'part{n}', 'wb') as f: f.write(bytes(20 << 20))`;
    expect((await attack(code)).stderr).toContain("No space left");
    expect((await attack("open('/dev/shm/x', 'wb').write(bytes(100 << 20))")).stderr).toMatch(/too large|No space/);
  });

  test("the file of passwords is not there", async () => {
    const told = await attack("print(open('/etc/shadow').read())");
    expect(told).toMatchObject({ stdout: "", exit_code: 1 });
    expect(told.stderr).toContain("No such file");
  });

  test("neither the server's files nor its variables are there", async () => {
    const file = join(host, "server.txt");
    writeFileSync(file, "a secret of the server");
    const code = `import os
print(dict(os.environ))
for path in [${JSON.stringify(file)}, ${JSON.stringify(import.meta.filename)}, "/root", "/home", "/var", "/etc/passwd"]:
  print(path, os.path.exists(path) and bool(os.path.isfile(path) or [n for n in os.listdir(path) if n != ".pyenv"]))
print([path for path in os.listdir("/") if path not in "bin dev etc lib lib32 lib64 proc tmp usr sandbox".split()])`;
    const told = await attack(code);
    expect(told.stdout).not.toContain("secret");
    expect(told.stdout).not.toContain("True");
    expect(told.exit_code).toBe(0);
  });

  test("it has another uid and no capability", async () => {
    const told = await attack(
      "import os\nprint(os.getuid() != 0, os.geteuid() != 0, open('/proc/self/status').read())",
    );
    expect(told.stdout).toMatch(/^True True/);
    expect(told.stdout).toMatch(/CapEff:\t0+\n/);
    expect(told.stdout).toMatch(/CapPrm:\t0+\n/);
    expect(told.stdout).toMatch(/NoNewPrivs:\t1/);
    const regain = "import os\nos.setuid(0)";
    expect((await attack(regain)).exit_code).toBe(1);
  });

  test("nothing outside of its own directory can be written", async () => {
    const code = `for path in ["/x", "/usr/x", "/usr/bin/python3", "/etc/x", "/dev/x", "/proc/sys/kernel/hostname", "/lib/x"]:
  try: open(path, "w").write("x"); print("wrote", path)
  except OSError: pass
open("coding-inside", "w").write("x")
print("done")`;
    expect((await attack(code)).stdout).toBe("done\n");
    expect(existsSync(join(tmpdir(), "coding-inside"))).toBe(false);
  });

  test("no socket reaches the machine or the world", async () => {
    const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const code = `import socket
for address in [("127.0.0.1", ${port}), ("192.0.2.1", 80), ("1.1.1.1", 53)]:
  try: print(socket.create_connection(address, 1).recv(10))
  except OSError as error: print("refused")
try: socket.getaddrinfo("example.org", 80); print("resolved")
except OSError: print("refused")
try: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print("raw")
except OSError: print("refused")
print(socket.if_nameindex())`;
    const told = await attack(code);
    server.close();
    expect(told.stdout).toBe(`${"refused\n".repeat(5)}[(1, 'lo')]\n`);
  });

  test("it cannot kill its parent, its group or processes of the machine", async () => {
    const code = `import os, signal
for pid in [os.getppid(), 1, -1, ${process.pid}, -${process.pid}, *range(1, 5000)]:
  for number in (signal.SIGKILL, signal.SIGSTOP):
    try: pid in (0, os.getpid()) or os.kill(pid, number)
    except OSError: pass
print("alive")`;
    expect(await attack(code)).toMatchObject({ stdout: "alive\n", exit_code: 0 });
  });

  test("ptrace finds nobody to trace", async () => {
    const code = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
traced = [pid for pid in [1, 2, ${process.pid}, ${process.ppid}, *range(3, 3000)] if libc.ptrace(16, pid, 0, 0) == 0]
print(traced)`;
    expect((await attack(code)).stdout).toBe("[]\n");
  });

  test("the processes of others are not in /proc, and their memory is out of reach", async () => {
    const code = `import os
print(sorted(name for name in os.listdir("/proc") if name.isdigit()))
for path in ["/proc/${process.pid}/environ", "/proc/${process.pid}/mem", "/proc/kcore", "/proc/1/root/etc/shadow", "/dev/mem"]:
  try: open(path, "rb").read(1); print("read", path)
  except OSError: pass`;
    expect((await attack(code)).stdout).toMatch(/^\['1'(, '2')?\]\n$/);
  });

  test("links lead to nothing more", async () => {
    const code = `import os
targets = ["/etc/shadow", "/proc/1/root/etc/shadow", "/proc/self/root/../../etc/shadow", "../../../../etc/shadow",
  "/proc/self/cwd/../../etc/shadow", ${JSON.stringify(host)}]
for number, target in enumerate(targets):
  os.symlink(target, f"link{number}")
  try: print(os.listdir(f"link{number}") if number == 5 else open(f"link{number}").read())
  except OSError: pass
try: os.link("/usr/bin/env", "hard"); print("linked")
except OSError: pass
try: os.mkdir("jail"); os.chroot("jail"); print("left")
except OSError: pass`;
    expect(await attack(code)).toMatchObject({ stdout: "", exit_code: 0 });
  });

  test("no namespace of users can be made where bubblewrap can forbid it", async () => {
    const code = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.unshare(0x20000), libc.setns(0, 0), libc.umount2(b"/tmp", 2))`;
    expect((await attack(code)).stdout).toBe("-1 -1 -1 -1\n");
  });

  test("a daemon that left its session is gone after the step, and a closed session leaves no process", async () => {
    const before = new Set(sandboxMarks());
    const session = await openSession(environment);
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

  test.skipIf(!findCgroups(readConfig({}).limits))(
    "where cgroups can be made, they bound all processes of a sandbox together, and go with it",
    async () => {
      const before = new Set(sandboxMarks());
      const session = await openSession(environment);
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
    },
  );

  test("what is left running takes no processor time between two steps", async () => {
    const spin =
      "import threading\ndef spin():\n  while True: pass\nthreading.Thread(target=spin, daemon=True).start()";
    const before = new Set(sandboxMarks());
    const session = await openSession(environment);
    expect((await session.run(spin)).outcome).toBe("ok");
    const mark = sandboxMarks().find((known) => !before.has(known)) ?? "none";
    const states = processesMarked(mark).map((pid) => /State:\t(\w)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")));
    expect(states.map((state) => state?.[1])).toContain("T");
    expect((await session.run("print(1)")).stdout).toBe("1\n");
    await session.env.close();
    expect(processesMarked(mark)).toEqual([]);
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
    const told = await session.run(code);
    clearInterval(timer);
    expect(told).toMatchObject({ truncated: true, outcome: "ok", exit_code: 0 });
    expect(told.stdout.length).toBeLessThan(10_200);
    expect(told.stdout).toMatch(/^x+\n\[\.\.\. more than 10\d+ bytes left out \.\.\.\]\nx+the end\n$/);
    expect(most - before).toBeLessThan(256 * 1024 * 1024);
    expect((await session.run("print(1)")).stdout).toBe("1\n");
  });
});

/** Besides the interpreter and the first process of bubblewrap. */
const COUNT_OTHERS = `import os
print(len([name for name in os.listdir("/proc") if name.isdigit() and name not in ("1", str(os.getpid()))]))`;
