/** What a Python program finds and what it may do to its interpreter, in the sandbox and without one. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { type Coding, openSession, prepareCoding, type SandboxSession } from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();
const WAYS = {
  "with bubblewrap": {},
  "without it": { SANDBOX_BUBBLEWRAP: "no-such-bubblewrap", ALLOW_WEAK_SANDBOX: "1" },
} as const;

describe.each(Object.entries(WAYS))("Python %s", (way, variables) => {
  describe.skipIf(way === "with bubblewrap" && !bubblewrap.available)("", { timeout: 60_000 }, () => {
    let environment: Coding;
    let session: SandboxSession;
    beforeAll(async () => {
      environment = (await prepareCoding({ ...variables, SANDBOX_TIMEOUT: "10", MAX_OUTPUT_LENGTH: "2000" }))
        .environment;
    });
    beforeEach(async () => {
      session = await openSession(environment);
      return () => session.env.close();
    });

    const nextIsWell = async () => {
      const next = await session.run("import sys\nprint('well'); print('too', file=sys.stderr)");
      expect(next).toMatchObject({ stdout: "well\n", stderr: "too\n", exit_code: 0, outcome: "ok", reward: 1 });
    };

    test("variables, functions and imports are kept between steps and cleared by a reset", async () => {
      await session.run("import math\nx = 2\ndef twice(n): return 2 * n");
      expect(await session.run("print(twice(x), math.floor(2.5))")).toMatchObject({ stdout: "4 2\n", reward: 1 });
      await session.env.reset();
      const { stderr, exit_code, reward } = await session.run("print(x)");
      expect([stderr, exit_code, reward]).toEqual([expect.stringContaining("NameError"), 1, 0]);
    });

    test("an error is reported with the lines of the program and what was printed before it", async () => {
      await session.run("def fail(n):\n  return 1 // n");
      const { stdout, stderr } = await session.run("print('first')\nfail(0)");
      expect(stdout).toBe("first\n");
      // Newer interpreters add a line that points into the expression.
      expect(stderr.replace(/^ +[~^]+\n/gm, "")).toBe(`Traceback (most recent call last):
  File "<step 2>", line 2, in <module>
    fail(0)
  File "<step 1>", line 2, in fail
    return 1 // n
ZeroDivisionError: integer division or modulo by zero
`);
      const syntax = await session.run("x = = 1");
      expect(syntax.stderr).toContain("SyntaxError");
      expect(syntax.stderr).not.toContain("Traceback");
      await nextIsWell();
    });

    test("sys.exit ends the step with its code and keeps the variables", async () => {
      await session.run("import sys\nx = 1");
      expect(await session.run("sys.exit(3)")).toMatchObject({ exit_code: 3, outcome: "error", state_lost: false });
      expect(await session.run("sys.exit()")).toMatchObject({ exit_code: 0, outcome: "ok" });
      expect(await session.run("sys.exit('why')")).toMatchObject({ exit_code: 1, stderr: "why\n" });
      expect((await session.run("print(x)")).stdout).toBe("1\n");
    });

    test("a program is the main module: classes of it pickle, names of it are its own", async () => {
      const code = `import pickle
class Point: pass
print(__name__, type(pickle.loads(pickle.dumps(Point()))).__module__, sorted(n for n in globals() if n[0] != "_"))`;
      expect((await session.run(code)).stdout).toBe("__main__ __main__ ['Point', 'pickle']\n");
    });

    test("it starts other programs and reads what they print", async () => {
      const code = `import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
subprocess.run(["sh", "-c", "echo shell; echo error >&2; exit 3"])`;
      expect(await session.run(code)).toMatchObject({ stdout: "42\n\nshell\n", stderr: "error\n", exit_code: 0 });
    });

    test("there is nothing to read on standard input", async () => {
      const result = await session.run("import sys\nprint(repr(sys.stdin.read()))\ninput()");
      expect(result).toMatchObject({ stdout: "''\n", exit_code: 1 });
      expect(result.stderr).toContain("EOFError");
    });

    test("an exit of the interpreter is reported with its code, and the next step has a new one", async () => {
      await session.run("x = 1");
      const result = await session.run("import os\nprint('last words', flush=True)\nos._exit(7)");
      expect(result).toMatchObject({
        stdout: "last words\n",
        exit_code: 7,
        outcome: "died",
        state_lost: true,
        reward: 0,
      });
      expect(result.stderr).toMatch(/^sandbox: the interpreter ended before the program did; .*lost/);
      expect((await session.run("x")).stderr).toContain("NameError");
    });

    test("a crash of the interpreter is reported, and the next step has a new one", async () => {
      const result = await session.run("import ctypes\nctypes.string_at(0)");
      expect(result.outcome).toBe("died");
      expect(result.exit_code).not.toBe(0);
      await nextIsWell();
    });

    test("text written into every file descriptor is not an answer: the interpreter is replaced, which is reported", async () => {
      const code = `import os
for fd in range(3, 256):
  try: os.write(fd, b'{"id": "", "exit_code": 0}')
  except OSError: pass
while True: pass`;
      const result = await session.run(code);
      expect(result).toMatchObject({ outcome: "garbled", exit_code: 125, state_lost: true, reward: 0 });
      expect(result.stderr).toContain("wrote into the channel of the interpreter");
      await nextIsWell();
    });

    test("an answer written before its request is ignored", async () => {
      const code = `import json, os, struct
body = json.dumps({"id": "0" * 32, "exit_code": 0}).encode()
for fd in range(3, 256):
  try: os.write(fd, struct.pack(">I", len(body)) + body)
  except OSError: pass`;
      expect((await session.run(code)).outcome).toBe("garbled");
      await nextIsWell();
    });

    test("a frame that promises 4 GB is not waited for", async () => {
      const code = `import os
for fd in range(3, 256):
  try: os.write(fd, b"\\xff\\xff\\xff\\xff")
  except OSError: pass`;
      expect((await session.run(code)).outcome).toBe("garbled");
      await nextIsWell();
    });

    test("closing every file descriptor ends the interpreter, and the session continues", async () => {
      expect((await session.run("import os\nos.closerange(0, 1024)")).outcome).toBe("died");
      await nextIsWell();
    });

    test("closed or replaced output comes back with the next step", async () => {
      await session.run("import os, sys\nsys.stdout.close()\nos.close(1)\nos.close(2)");
      await nextIsWell();
      await session.run("sys.stdout = sys.stderr = None");
      await nextIsWell();
      await session.run("import os\nos.dup2(os.open('/dev/null', os.O_WRONLY), 1)");
      await nextIsWell();
    });

    test.each([
      ["deep recursion", "def f(): f()\nf()", "RecursionError"],
      ["a representation that fails", "class E(Exception):\n  def __str__(self): raise ValueError\nraise E", "E"],
      ["an error of gigantic text", "raise ValueError('x' * 50_000_000)", "left out"],
      [
        "an exit with a value that has no text",
        "class V:\n  def __str__(self): 1 / 0\nraise SystemExit(V())",
        "no text",
      ],
      ["a lone surrogate", "raise ValueError('\\ud800')", "\\ud800"],
      ["an interrupt", "raise KeyboardInterrupt", "KeyboardInterrupt"],
      ["a null byte in the program", "x = '\0'", "null bytes"],
    ])("%s is an error like others", async (_, code, words) => {
      const result = await session.run(code);
      expect(result).toMatchObject({ exit_code: 1, outcome: "error", state_lost: false });
      expect(result.stderr).toContain(words);
      await nextIsWell();
    });

    test("recursion that breaks the C stack ends the interpreter only", async () => {
      const code = "import sys\nsys.setrecursionlimit(10 ** 9)\na = []\nfor _ in range(10 ** 6): a = [a]\nrepr(a)";
      expect((await session.run(code)).exit_code).not.toBe(0);
      await nextIsWell();
    });

    test("output of any bytes arrives as text", async () => {
      const code = "import os, sys\nos.write(1, b'\\x00\\xff\\xc3A')\nprint('\\ud800 é 👋')\nprint('x', end='')";
      expect((await session.run(code)).stdout).toBe("\0\uFFFD\uFFFDA\\ud800 é 👋\nx");
    });

    test("output beyond MAX_OUTPUT_LENGTH is cut, which is said; its end with the error is kept", async () => {
      const result = await session.run("import sys\nprint('a' * 5000)\nprint('b' * 5000, file=sys.stderr)\n1 / 0");
      expect(result.truncated).toBe(true);
      expect(result.stdout).toBe(`${"a".repeat(1000)}\n[... 3001 characters left out ...]\n${"a".repeat(999)}\n`);
      expect(result.stderr).toMatch(/left out[\s\S]*ZeroDivisionError/);
      expect((await session.run("print('a' * 1999)")).truncated).toBe(false);
    });

    test("threads, handlers, alarms and exit functions that are left behind do not disturb the next step", async () => {
      const code = `import atexit, builtins, signal, threading, time, sys
def noisy(*_): raise RuntimeError("a handler")
signal.signal(signal.SIGALRM, noisy)
signal.setitimer(signal.ITIMER_REAL, 0.02)
threading.Thread(target=time.sleep, args=(600,)).start()
atexit.register(print, "at exit")
sys.stdout.write("no line end")`;
      const first = await session.run(code);
      if (first.exit_code === 0) expect(first).toMatchObject({ stdout: "no line end", outcome: "ok" });
      else expect(first.stderr).toContain("a handler");
      await new Promise((resolve) => setTimeout(resolve, 60));
      const next = await session.run("import time\ntime.sleep(0.01)\nprint('well')");
      // The alarm may ring in either step, which then reports it as an error; never in the interpreter itself.
      if (next.exit_code === 0) expect(next.stdout).toBe("well\n");
      else expect(next.stderr).toContain("a handler");
      expect(next.state_lost).toBe(false);
    });

    test("a program that breaks the built-in functions breaks its own interpreter at most", async () => {
      await session.run(
        "import builtins, json, os\nfor n in ('len', 'isinstance', 'open'): setattr(builtins, n, None)\njson.dumps = os.write = None",
      );
      const next = await session.run("print('well')");
      expect(["ok", "error", "died", "garbled"]).toContain(next.outcome);
      await session.env.reset();
      await nextIsWell();
    });

    test("a forked copy of the interpreter does not answer for it", async () => {
      const code =
        "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child', flush=True)";
      expect(await session.run(code)).toMatchObject({ stdout: "child\nparent\n", outcome: "ok" });
      await nextIsWell();
    });

    test("an interpreter that was killed between two steps is replaced, which is said", async () => {
      const { stdout } = await session.run("import os\nx = 1\nprint(os.getpid())");
      const late = "import os, signal, threading\nthreading.Timer(0, os._exit, [9]).start()";
      const result = await session.run(late);
      const next = await session.run("print('here')");
      expect(stdout).toMatch(/\d/);
      if (result.outcome === "ok" && next.outcome === "ok") {
        expect(next.stderr).toMatch(/^(sandbox: the interpreter ended after the previous step|)/);
      } else {
        expect([result.outcome, next.outcome]).toContain("died");
      }
      await nextIsWell();
    });

    test("a step that no client waits for is stopped", async () => {
      await session.run("x = 1");
      await expect(session.env.step({ code: "while True: pass" }, { timeoutMs: 300 })).rejects.toMatchObject({
        code: "CLIENT_TIMEOUT",
      });
    });
  });
});

describe.skipIf(!bubblewrap.available)("several Python sessions", { timeout: 90_000 }, () => {
  test("do not see each other's variables and files", async () => {
    const { environment } = await prepareCoding();
    const sessions = await Promise.all(Array.from({ length: 8 }, () => openSession(environment)));
    await Promise.all(sessions.map(({ run }, n) => run(`x = ${n}\nopen('mine', 'w').write(str(x))`)));
    const result = await Promise.all(
      sessions.map(({ run }) => run("import os\nprint(x, open('mine').read(), os.listdir())")),
    );
    expect(result.map(({ stdout }) => stdout)).toEqual(sessions.map((_, n) => `${n} ${n} ['mine']\n`));
    await Promise.all(sessions.map(({ env }) => env.close()));
  });
});
