/** What holds without bubblewrap, where `ALLOW_WEAK_SANDBOX=1` lets a server start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "openenv-ts/client";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { coding } from "./models.js";
import {
  type Coding,
  openSession,
  prepareCoding,
  processesMarked,
  type SandboxSession,
} from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();
const WEAK = { SANDBOX_BUBBLEWRAP: "no-such-bubblewrap", ALLOW_WEAK_SANDBOX: "1" };
const TIME_LIMIT = { timeout: 120_000 };
const MARK = "import os\nprint(os.environ['OPENENV_SANDBOX'], os.getcwd())";

describe("a weak sandbox", TIME_LIMIT, () => {
  let environment: Coding;
  let session: SandboxSession;
  beforeAll(async () => {
    process.env["CODING_TEST_SECRET"] = "a secret of the server";
    environment = (await prepareCoding({ ...WEAK, SANDBOX_MEMORY_MB: "256" })).environment;
  });
  beforeEach(async () => {
    session = await openSession(environment);
    return () => session.env.close();
  });

  test("stops an endless loop with all that it started", async () => {
    const { environment: short } = await prepareCoding({ ...WEAK, SANDBOX_TIMEOUT: "5" });
    await using session = await openSession(short);
    const [mark = ""] = (await session.run(MARK)).stdout.split(" ");
    const result = await session.run("import subprocess\nsubprocess.Popen(['sleep', '600'])\nwhile True: pass");
    expect(result).toMatchObject({ exit_code: 124, outcome: "timeout", state_lost: true });
    expect(processesMarked(mark)).toEqual([]);
    expect((await session.run("print(1)")).stdout).toBe("1\n");
  });

  test("limits memory and the size of files", async () => {
    expect((await session.run("bytearray(1 << 30)")).stderr).toContain("MemoryError");
    expect((await session.run("open('big', 'wb').write(bytes(100 << 20))")).stderr).toContain("File too large");
    const script = await session.run("new ArrayBuffer(1024 ** 3)", "javascript");
    expect(script).toMatchObject({ exit_code: 1, outcome: "error" });
  });

  test("has no variable of the server and its own directory, which is removed with it", async () => {
    const result = await session.run("import os\nprint(os.getcwd(), os.listdir(), dict(os.environ))");
    expect(result.stdout).toContain(" [] ");
    expect(result.stdout).not.toContain("secret");
    const [directory = "", other] = [result.stdout.split(" ")[0], await openSession(environment)];
    expect((await other.run("import os\nprint(os.getcwd())")).stdout.trim()).not.toBe(directory);
    await other.env.close();
    expect(existsSync(directory)).toBe(true);
    await session.run("os.makedirs('closed/inner')\nos.chmod('closed/inner', 0)\nos.chmod('closed', 0)");
    await session.env.close();
    expect(existsSync(directory)).toBe(false);
  });

  test("leaves no process when its session is closed, not even one that left its group", async () => {
    const [mark = ""] = (await session.run(MARK)).stdout.split(" ");
    await session.run(
      "import time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(600)\n  os._exit(0)\nos.wait()",
    );
    expect(processesMarked(mark).length).toBeGreaterThan(1);
    await session.env.close();
    expect(processesMarked(mark)).toEqual([]);
  });
});

describe.each([
  ["with bubblewrap", {}],
  ["without it", WEAK],
])("a server that is killed %s", (way, variables) => {
  test.skipIf(way === "with bubblewrap" && !bubblewrap.available)("leaves no process", TIME_LIMIT, async () => {
    const app = join(import.meta.dirname, "dist/server/app.js");
    const env = { ...process.env, PORT: "0", SANDBOX_BUBBLEWRAP: bubblewrap.path, ...variables };
    const server = spawn(process.execPath, [app], { env });
    let printed = "";
    for await (const chunk of server.stdout) if ((printed += chunk).includes("\n")) break;
    const url = /http:\S+/.exec(printed)?.[0] ?? "";
    const [idle, busy] = [await connect(url, coding), await connect(url, coding)];
    const marks = await Promise.all(
      [idle, busy].map(async (one) => (await one.step({ code: MARK })).observation.stdout),
    );
    const lost = busy.step({ code: "while True: pass" }).catch(() => {});
    await idle.step({ code: "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()" });
    server.kill("SIGKILL");
    await once(server, "exit");
    await lost;
    for (const mark of marks.map((text) => text.split(" ")[0] ?? "")) {
      while (processesMarked(mark).length > 0) await sleep(20);
    }
    await Promise.all([idle.close(), busy.close()]);
  });
});
