/** Programs that go for the machine, the server and other sessions. */
import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { useAttacker } from "./test-support/attack.js";

const bubblewrap = await requireBubblewrap();

describe.skipIf(!bubblewrap.available)("a program that wants out", { timeout: 120_000 }, () => {
  const { attack } = useAttacker();
  let host: string;

  beforeAll(async () => {
    host = await mkdtemp(join(tmpdir(), "coding-host-"));
  });
  afterAll(() => rm(host, { recursive: true, force: true }));

  test("the file of passwords is not there", async () => {
    const result = await attack("print(open('/etc/shadow').read())");
    expect(result).toMatchObject({ stdout: "", exit_code: 1 });
    expect(result.stderr).toContain("No such file");
  });

  test("neither the server's files nor its variables are there", async () => {
    const file = join(host, "server.txt");
    writeFileSync(file, "a secret of the server");
    const code = `import os
print(dict(os.environ))
for path in [${JSON.stringify(file)}, ${JSON.stringify(import.meta.filename)}, "/root", "/home", "/var", "/etc/passwd"]:
  print(path, os.path.exists(path) and bool(os.path.isfile(path) or [n for n in os.listdir(path) if n != ".pyenv"]))
print([path for path in os.listdir("/") if path not in "bin dev etc lib lib32 lib64 proc tmp usr sandbox".split()])`;
    const result = await attack(code);
    expect(result.stdout).not.toContain("secret");
    expect(result.stdout).not.toContain("True");
    expect(result.exit_code).toBe(0);
  });

  test("it has another uid and no capability", async () => {
    const result = await attack(
      "import os\nprint(os.getuid() != 0, os.geteuid() != 0, open('/proc/self/status').read())",
    );
    expect(result.stdout).toMatch(/^True True/);
    expect(result.stdout).toMatch(/CapEff:\t0+\n/);
    expect(result.stdout).toMatch(/CapPrm:\t0+\n/);
    expect(result.stdout).toMatch(/NoNewPrivs:\t1/);
    const regain = "import os\nos.setuid(0)";
    expect((await attack(regain)).exit_code).toBe(1);
  });

  test("nothing outside its directory can be written", async () => {
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
except OSError: print("refused")`;
    const result = await attack(code);
    server.close();
    expect(result.stdout).toBe("refused\n".repeat(5));
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

  test("ptrace finds no process to trace", async () => {
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

  test("no namespace can be made or joined, and nothing mounted", async () => {
    const code = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.unshare(0x20000), libc.setns(0, 0), libc.umount2(b"/tmp", 2))`;
    expect((await attack(code)).stdout).toBe("-1 -1 -1 -1\n");
  });
});
