/** What a server of this environment says when it starts, and who may start it. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { describe, expect, test } from "vitest";
import { startCommand } from "../../test-support/commands/command-line.js";
import { requireBubblewrap } from "../../test-support/requirement.js";
import { coding } from "./models.js";
import { findCgroups } from "./sandbox/cgroup.js";
import { readConfig } from "./server/config.js";
import { openSession, prepareCoding } from "./test-support/sessions.js";

const bubblewrap = await requireBubblewrap();
const { limits, total } = readConfig({});
const cgroups = await findCgroups(limits, total);
const TIME_LIMIT = { timeout: 60_000 };
const folder = import.meta.dirname;
const APP = join(folder, "dist/server/app.js");
const NOBODY = 65_534;

describe("without bubblewrap", TIME_LIMIT, () => {
  const env = { SANDBOX_BUBBLEWRAP: "no-such-bubblewrap" };

  test("a server does not start, and says what would be missing and how to allow it", async () => {
    await using running = startCommand(["serve", folder, "--port", "0"], { cwd: folder, env });
    expect(await running.exited).toBe(2);
    expect(running.stderr).toContain("no-such-bubblewrap cannot isolate programs here");
    expect(running.stderr).toContain("ALLOW_WEAK_SANDBOX=1");
    expect(running.stderr).toContain("read the files");
  });

  test("ALLOW_WEAK_SANDBOX=1 starts it, with a warning of what programs can do", async () => {
    const weak = { ...env, ALLOW_WEAK_SANDBOX: "1" };
    await using running = startCommand(["serve", folder, "--port", "0"], { cwd: folder, env: weak });
    const [, url = ""] = await running.printed(/at (http:\/\/[\w.:]+)/);
    expect(running.stderr).toContain("Programs run WITHOUT a sandbox");
    expect(running.stderr).toContain("the temporary files, on the disk");
    expect(running.stderr.match(/coding_env:/g)).toHaveLength(1);
    await using session = await connect(url, coding);
    await session.reset();
    const result = await session.step({ code: "import os\nprint(os.environ.get('ALLOW_WEAK_SANDBOX'), os.listdir())" });
    expect(result.observation).toEqual({ stdout: "None []\n", stderr: "", exit_code: 0 });
  });

  test("another value of it allows nothing", async () => {
    await expect(prepareCoding({ ...env, ALLOW_WEAK_SANDBOX: "yes" })).rejects.toThrow(ConfigError);
  });

  test("a bubblewrap that fails is as none", async () => {
    await expect(prepareCoding({ SANDBOX_BUBBLEWRAP: "false" })).rejects.toThrow(/false cannot isolate programs here/);
  });
});

test("a Python that is not there is an error that names the variable", async () => {
  await expect(prepareCoding({ SANDBOX_PYTHON: "no-such-python" })).rejects.toThrow(/no-such-python.*SANDBOX_PYTHON/);
});

describe.skipIf(!bubblewrap.available)("with bubblewrap", TIME_LIMIT, () => {
  test("a server says nothing of weakness and serves programs", async () => {
    await using running = startCommand(["serve", folder, "--port", "0"], { cwd: folder });
    const [, url = ""] = await running.printed(/at (http:\/\/[\w.:]+)/);
    expect(running.stderr).not.toContain("WITHOUT");
    await using session = await connect(url, coding);
    await session.reset();
    expect((await session.step({ code: "print(6 * 7)" })).observation.stdout).toBe("42\n");
  });

  test("a server of low priority serves both languages", { timeout: 240_000 }, async () => {
    const env = { ...process.env, PORT: "0", SANDBOX_BUBBLEWRAP: bubblewrap.path };
    const server = spawn("nice", ["-n", "10", process.execPath, APP], { cwd: folder, env });
    try {
      let printed = "";
      for await (const chunk of server.stdout) if ((printed += chunk).includes("\n")) break;
      await using session = await connect(/http:\S+/.exec(printed)?.[0] ?? "", coding);
      await session.reset();
      for (const [code, language] of [
        ["print(1)", "python"],
        ["console.log(1)", "javascript"],
      ] as const) {
        expect((await session.step({ code, language })).observation.stdout).toBe("1\n");
      }
    } finally {
      server.kill("SIGTERM");
      await once(server, "exit");
    }
  });

  /** The same machine without cgroups, as in most containers. */
  const WITHOUT_CGROUPS = [
    "--die-with-parent",
    "--cap-add",
    "ALL",
    "--dev-bind",
    "/",
    "/",
    "--tmpfs",
    "/sys/fs/cgroup",
    process.execPath,
  ];

  test("without cgroups a server starts and says once what nothing bounds", async () => {
    const env = { ...process.env, PORT: "0", SANDBOX_BUBBLEWRAP: bubblewrap.path, SANDBOX_MEMORY_MB: "128" };
    const server = spawn(bubblewrap.path, [...WITHOUT_CGROUPS, APP], { cwd: folder, env });
    const ended = once(server, "exit");
    let said = "";
    server.stderr.on("data", (chunk) => (said += chunk));
    try {
      let printed = "";
      for await (const chunk of server.stdout) if ((printed += chunk).includes("\n")) break;
      await using session = await connect(/http:\S+/.exec(printed)?.[0] ?? "", coding);
      await session.reset();
      const code = "import os\ntry: os.memfd_create('x')\nexcept OSError as error: print(error.errno)";
      expect((await session.step({ code })).observation.stdout).toBe("1\n");
    } finally {
      server.kill("SIGTERM");
      await ended;
    }
    expect(said.match(/coding_env:/g)).toHaveLength(1);
    expect(said).toContain("Unbounded here: the memory of all programs together (each process may take 128 MB)");
    expect(said).toContain("the processes of all programs together (each may start 64)");
    expect(said).toContain("OPENENV_SANDBOX_REQUIRE=cgroups");
    expect(said).not.toContain("temporary files");
  });

  test("OPENENV_SANDBOX_REQUIRE=cgroups refuses to start there, and names what is missing", async () => {
    const env = { ...process.env, PORT: "0", SANDBOX_BUBBLEWRAP: bubblewrap.path, OPENENV_SANDBOX_REQUIRE: "cgroups" };
    const server = spawn(bubblewrap.path, [...WITHOUT_CGROUPS, APP], { cwd: folder, env });
    let said = "";
    server.stderr.on("data", (chunk) => (said += chunk));
    expect((await once(server, "close"))[0]).not.toBe(0);
    expect(said).toContain("ConfigError");
    expect(said).toContain(
      "OPENENV_SANDBOX_REQUIRE=cgroups: no cgroup can be made here that bounds memory and processes",
    );
  });

  test("root of a container that maps one uid gets an answer, not an endless search for another", async () => {
    const oneUid = ["--die-with-parent", "--unshare-user", "--uid", "0", "--cap-add", "ALL", "--dev-bind", "/", "/"];
    const env = { ...process.env, PORT: "0", SANDBOX_BUBBLEWRAP: bubblewrap.path };
    const server = spawn(bubblewrap.path, [...oneUid, process.execPath, APP], { cwd: folder, env });
    let said = "";
    server.stderr.on("data", (chunk) => (said += chunk));
    expect((await once(server, "close"))[0]).not.toBe(0);
    expect(said).toContain("cannot isolate programs here");
  });

  test("where what bubblewrap runs has no capability, the number of files is named as unbounded", async () => {
    const directory = await mkdtemp(join(tmpdir(), "coding-bubblewrap-"));
    const script = join(directory, "bwrap");
    const withoutCapability = `#!/bin/bash\nargs=" $(printf '%q ' "$@")"\n`;
    await writeFile(script, `${withoutCapability}eval exec ${bubblewrap.path} "\${args/ --cap-add CAP_SYS_ADMIN/}"\n`);
    await chmod(directory, 0o755);
    await chmod(script, 0o755);
    try {
      const { sandbox, environment } = await prepareCoding({ SANDBOX_BUBBLEWRAP: script });
      expect(sandbox.warning).toContain("the number of temporary files");
      await using session = await openSession(environment);
      const result = await session.run("import os\nopen('file', 'w').write('kept')\nprint(os.listdir())");
      expect(result).toMatchObject({ stdout: "['file']\n", outcome: "ok" });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test.skipIf(cgroups?.bounds.size !== 2)("where cgroups bound both, it starts and nothing is said", async () => {
    const { sandbox } = await prepareCoding({ OPENENV_SANDBOX_REQUIRE: "cgroups" });
    expect(sandbox.warning).toBe("");
  });

  const mayRead = spawnSync(process.execPath, ["--check", APP], { uid: NOBODY, gid: NOBODY }).status === 0;
  test.skipIf(process.getuid?.() !== 0 || !mayRead)("an ordinary user may start it as well", async () => {
    const env = { PATH: process.env["PATH"], PORT: "0", SANDBOX_BUBBLEWRAP: bubblewrap.path, SANDBOX_PROCESSES: "32" };
    const server = spawn(process.execPath, [APP], { uid: NOBODY, gid: NOBODY, cwd: "/", env });
    try {
      let printed = "";
      for await (const chunk of server.stdout) if ((printed += chunk).includes("\n")) break;
      await using session = await connect(/http:\S+/.exec(printed)?.[0] ?? "", coding);
      await session.reset();
      const code = "import os\nprint(os.getpid(), os.path.exists('/etc/passwd'))\nfor _ in range(200): os.fork()";
      const { observation } = await session.step({ code });
      expect(observation.stdout).toContain("1 False\n");
      expect((await session.step({ code: "console.log(1)", language: "javascript" })).observation.stdout).toBe("1\n");
    } finally {
      server.kill("SIGTERM");
      await once(server, "exit");
    }
  });
});
