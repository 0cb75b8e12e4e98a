/** Programs that go for the kernel: sockets, memory that no process has, namespaces, mounts. */
import { createServer } from "node:net";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { ARCHITECTURES, type Architecture, JUDGED, REFUSED } from "./sandbox/filter/syscalls.js";
import { type Coding, openSession, prepareCoding, type SandboxSession } from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();
const filtered = process.platform === "linux" && process.arch in ARCHITECTURES;
const WAYS = {
  "with bubblewrap": {},
  "without it": { SANDBOX_BUBBLEWRAP: "no-such-bubblewrap", ALLOW_WEAK_SANDBOX: "1" },
} as const;
const TRY = `import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
  ctypes.set_errno(0)
  result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
  return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
def open_socket(*arguments):
  try: return socket.socket(*arguments) and "open"
  except OSError as error: return errno.errorcode[error.errno]
`;

describe.each(Object.entries(WAYS))("a program %s", (way, variables) => {
  const runs = filtered && (way === "without it" || bubblewrap.available);
  describe.skipIf(!runs)("", { timeout: 60_000 }, () => {
    let environment: Coding;
    let session: SandboxSession;
    beforeAll(async () => {
      environment = (await prepareCoding({ ...variables, SANDBOX_MEMORY_MB: "128" })).environment;
    });
    beforeEach(async () => {
      session = await openSession(environment);
      return () => session.env.close();
    });
    const column = ARCHITECTURES[process.arch as Architecture]?.column;
    const numberOf = (name: keyof typeof REFUSED) => REFUSED[name][column];

    test.each([
      ["AF_VSOCK", "SOCK_STREAM"],
      ["AF_INET", "SOCK_STREAM"],
      ["AF_INET", "SOCK_DGRAM"],
      ["AF_INET6", "SOCK_STREAM"],
      ["AF_PACKET", "SOCK_RAW"],
      ["AF_NETLINK", "SOCK_RAW"],
      ["AF_ALG", "SOCK_SEQPACKET"],
    ])("opens no socket of %s, %s", async (family, type) => {
      const ran = await session.run(`${TRY}print(open_socket(socket.${family}, socket.${type}))`);
      expect(ran).toMatchObject({ stdout: "EAFNOSUPPORT\n", outcome: "ok" });
    });

    test("does not reach a server on the loopback of the machine", async () => {
      let connections = 0;
      const server = createServer(() => (connections += 1)).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as { port: number };
      const ran = await session.run(`import socket\nsocket.create_connection(("127.0.0.1", ${port}), 5)`);
      server.close();
      expect(ran).toMatchObject({ outcome: "error", stderr: expect.stringContaining("Address family not supported") });
      expect(connections).toBe(0);
    });

    test("gets no memory that no limit counts", async () => {
      const code = `${TRY}
def memory(make):
  try: make(); return "made"
  except OSError as error: return errno.errorcode[error.errno]
print(memory(lambda: os.memfd_create("x")), call(${numberOf("memfd_secret")}, 0))
print(call(${numberOf("shmget")}, 0, 1 << 20, 0o1600), call(${numberOf("msgget")}, 0, 0o1600))
read, write = os.pipe()
print(call(${numberOf("vmsplice")}, write, 0, 0, 0))`;
      expect((await session.run(code)).stdout).toBe("EPERM EPERM\nEPERM EPERM\nEPERM\n");
    });

    test("cannot create a user namespace with any system call", async () => {
      const [clone, clone3] = [JUDGED.clone[column], JUDGED.clone3[column]];
      const code = `${TRY}
NEWUSER = 0x10000000
print(call(${numberOf("unshare")}, NEWUSER), call(${clone}, NEWUSER | 17, 0, 0, 0, 0), call(${clone3}, 0, 0))
print(call(${numberOf("setns")}, 0, NEWUSER))`;
      expect((await session.run(code)).stdout).toBe("EPERM EPERM ENOSYS\nEPERM\n");
    });

    test("mounts nothing, with the old calls and with the new ones", async () => {
      const names = ["umount2", "fsopen", "open_tree", "move_mount", "mount_setattr"] as const;
      const rest = names.map((name) => `call(${numberOf(name)}, 0, 0, 0, 0, 0)`).join(", ");
      const code = `${TRY}print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), errno.errorcode[ctypes.get_errno()])
print({${rest}})`;
      expect((await session.run(code)).stdout).toBe("-1 EPERM\n{'EPERM'}\n");
    });

    test("finds every refused call refused, with an ordinary error", async () => {
      const numbers = Object.values(REFUSED).map((row) => row[column]);
      const ran = await session.run(
        `${TRY}print({call(number, 0, 0, 0, 0, 0) for number in ${JSON.stringify(numbers)}})`,
      );
      expect(ran).toMatchObject({ stdout: "{'EPERM'}\n", outcome: "ok" });
    });

    test("is the first that the kernel ends when the machine's memory ends", async () => {
      const code = `import os
print(os.popen("cat /proc/self/oom_score_adj").read().strip() if os.path.exists("/proc/self") else "1000")`;
      expect((await session.run(code)).stdout).toBe("1000\n");
    });

    test("has no capability and cannot get one", async () => {
      const code = `import os
status = open("/proc/self/status").read() if os.path.exists("/proc/self") else ""
print([row.split()[1] for row in status.split("\\n") if row.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb", "NoNewPrivs"))])`;
      expect((await session.run(code)).stdout).toMatch(/^\[(('0{16}', ){4}'1')?\]\n$/);
    });

    test("finds what ordinary programs need", async () => {
      const code = `import asyncio, multiprocessing, socket, subprocess, threading
async def both():
  process = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
  return (await process.communicate())[0].decode().strip(), await asyncio.to_thread(lambda: "thread")
print(asyncio.run(both()))
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
queue = context.Queue()
worker = context.Process(target=queue.put, args=("queued",))
worker.start(); print(queue.get()); worker.join()
left, right = socket.socketpair()
left.send(b"pair"); print(right.recv(4))`;
      const ran = await session.run(code);
      expect(ran).toMatchObject({ stdout: "('child', 'thread')\n[1, 2]\nqueued\nb'pair'\n", stderr: "" });
    });
  });
});

describe.skipIf(!filtered)("unix sockets", { timeout: 60_000 }, () => {
  const code = `${TRY}
print(open_socket(socket.AF_UNIX, socket.SOCK_STREAM))
try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print("pair")
except OSError as error: print(errno.errorcode[error.errno])`;

  test.skipIf(!bubblewrap.available)("are for programs that see only their own", async () => {
    await using session = await openSession((await prepareCoding()).environment);
    expect((await session.run(code)).stdout).toBe("open\npair\n");
  });

  test("that have a name are not for programs that see those of the machine", async () => {
    await using session = await openSession((await prepareCoding(WAYS["without it"])).environment);
    expect((await session.run(code)).stdout).toBe("EAFNOSUPPORT\nEPERM\n");
  });
});
