/** The page about Python environments as its reader follows it: its script under uv, its client, one of our servers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createProject, runCommand, startCommand } from "../test-support/commands/command-line.js";
import { requireTextarena } from "../test-support/requirement.js";

const ROOT = join(import.meta.dirname, "..");
const page = readFileSync(join(import.meta.dirname, "guide/python-environments.md"), "utf8");
const textarena = await requireTextarena();

describe.skipIf(!textarena.available)("the page about Python environments", () => {
  test("plays a game of textarena and one of ours with the same client", { timeout: 180_000 }, async () => {
    const script = blockOf("textarena_server.py");
    await using project = await createProject({ "textarena_server.py": script });
    await using theirs = await startWithUv(project.dir);
    await using ours = startCommand(["serve", join(ROOT, "envs/wordle"), "--port", "0"], { cwd: project.dir });
    const [, address = ""] = await ours.printed(/at (http:\/\/[\w.:]+)/);

    const play = blockOf("play.ts")
      .replace("http://localhost:8000", address)
      .replace("http://localhost:8001", theirs.url);
    await project.write("play.ts", play);
    const { code, stdout, stderr } = await runCommand(["run", "play.ts"], { cwd: project.dir });
    expect(code, stderr).toBe(0);
    expect(stdout.split("\n")[0]).toMatch(/is over after 6 moves, reward 0/);
    expect(stdout.split("\n")[1]).toMatch(/is over after \d+ moves, reward (1|0\.\d+)/);
  });
});

function blockOf(file: string): string {
  const [, code] =
    new RegExp(`^\`\`\`\\w+ file=${file.replace(".", "\\.")}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? [];
  if (code === undefined) throw new Error(`the page has no block ${file}`);
  return code;
}

/** `uv run textarena_server.py` on a free port; uv passes the signal on and ends with the server. */
async function startWithUv(cwd: string): Promise<AsyncDisposable & { url: string }> {
  const child = spawn(textarena.path, ["-m", "uv", "run", "textarena_server.py"], {
    cwd,
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const running = /Uvicorn running on (http:\/\/[\w.:]+)/.exec((said += text))?.[1];
      if (running !== undefined) resolve(running);
    });
    child.once("exit", () => reject(new Error(`the script ended before it served:\n${said}`)));
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}
