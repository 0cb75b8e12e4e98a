import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  counterModule,
  createProject,
  type Project,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { connect } from "../../../openenv/src/client/index.js";

vi.setConfig({ testTimeout: 90_000 });

const BIN = join(import.meta.dirname, "../../bin/openenv.js");
const WORDLE = join(import.meta.dirname, "../../../../envs/wordle");
/** `script` of util-linux runs a command on a terminal. */
const hasTerminal = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;
const PAGE = /http:\/\/127\.0\.0\.1:\d+\/web\/#token=([\w-]{32})\s/;
const UNSET = { OPENENV_OPERATOR_TOKEN: "", OPENENV_ORCHESTRATOR_TOKEN: "", OPENENV_CLIENT_TOKEN: "" };

let project: Project;
beforeAll(async () => {
  const hosted = `${counterModule()}
const isHost = Symbol.for("openenv.isolate") in globalThis;
if (isHost) console.log("environment sees operator:", process.env.OPENENV_OPERATOR_TOKEN ?? "nothing");`;
  const failing = counterModule("(() => { throw new Error('no more') })()");
  project = await createProject({ "environment.ts": counterModule(), "failing.ts": failing, "hosted.ts": hosted });
});
afterAll(() => project[Symbol.asyncDispose]());

async function statusOf(url: string, token?: string): Promise<number> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(`${url}/sessions`, { headers })).status;
}

describe("what a server logs about access at its start", () => {
  const CLOSED = "are closed: set OPENENV_OPERATOR_TOKEN";
  const NO_EFFECT = "OPENENV_ORCHESTRATOR_TOKEN has no effect in simulation mode";
  const ANYBODY = "any client can reset, step and read the state: set OPENENV_ORCHESTRATOR_TOKEN";
  const NETWORK = "any client on the network can open sessions: set OPENENV_CLIENT_TOKEN";
  const operator = { OPENENV_OPERATOR_TOKEN: "operate" };
  const orchestrator = { OPENENV_ORCHESTRATOR_TOKEN: "drive" };
  const production = { OPENENV_MODE: "production" };
  const everywhere = { HOST: "0.0.0.0" };

  test.each<[string, Record<string, string>, string[]]>([
    ["nothing is set", {}, [CLOSED]],
    ["there is an operator", operator, []],
    ["the orchestrator's token has no effect", { ...operator, ...orchestrator }, [NO_EFFECT]],
    ["any client may drive", { ...operator, ...production }, [ANYBODY]],
    ["the orchestrator's token guards production", { ...operator, ...orchestrator, ...production }, []],
    ["the network comes in without a token", everywhere, [CLOSED, NETWORK]],
    ["the network comes in although there is an operator", { ...everywhere, ...operator }, [NETWORK]],
    ["the network meets an orchestrator", { ...everywhere, ...orchestrator, ...production }, [CLOSED]],
    ["two workers are open", { ...everywhere, ...production, WORKERS: "2" }, [CLOSED, ANYBODY, NETWORK]],
  ])("when %s", async (_when, settings, expected) => {
    const env = { ...UNSET, ...settings };
    await using running = startCommand(["serve", "environment.ts", "--port", "0"], { cwd: project.dir, env });
    const [, url = ""] = await running.printed(/at (http:\S+)/);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    running.process.kill("SIGTERM");
    await running.exited;
    const lines = running.stderr.split("\n").filter((line) => /OPENENV_\w+_TOKEN/.test(line));
    expect(lines).toEqual(expected.map((text) => expect.stringContaining(text)));
    // To a pipe: JSON for programs.
    const messages = running.stderr
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toContain("listening");
    expect(running.stdout).not.toContain("#token=");
  });
});

describe.skipIf(!hasTerminal)("serve on a terminal", () => {
  test("makes an operator's token and prints the page's address with it once", async () => {
    await using server = startOnTerminal([]);
    const [, token = ""] = await server.printed(PAGE);
    await server.printed(/env\.step/);
    expect(server.stdout.split(token)).toHaveLength(2);
    expect([await statusOf(server.url()), await statusOf(server.url(), token)]).toEqual([401, 200]);
  });

  test("prints the real URL and the lines that use it in both languages", async () => {
    await using server = startOnTerminal([]);
    await server.printed(/print\(env\.step/);
    const url = server.url();
    for (const path of ["/docs", "/health"]) {
      expect((await fetch(`${url}${path}`)).status).toBe(200);
      expect(server.stdout).toContain(`${url}${path}`);
    }
    expect(server.stdout).toContain(`${url.replace("http", "ws")}/ws`);
    expect(server.stdout).toContain(`GenericEnvClient(base_url="${url}")`);
    expect(server.stdout).toContain('env.step({"amount": 1})');
    expect(await playExample(server.stdout, url)).toContain("count: 1");
  });

  test("prints a call that Wordle takes as a guess", async () => {
    await using server = startOnTerminal([], {}, { file: WORDLE });
    await server.printed(/print\(env\.step/);
    expect(server.stdout).toContain('env.step({"message": "[crane]"})');
    // Turns count the valid guesses.
    expect(await playExample(server.stdout, server.url())).toContain("turn: 1");
  });

  test.each([["one worker"], ["two workers", "--workers", "2"], ["--watch", "--watch"]])(
    "logs lines for people with %s, the stack of an error in lines below",
    async (_, ...args) => {
      await using server = startOnTerminal(args, {}, { file: "failing.ts" });
      await server.printed(
        /^\d\d:\d\d:\d\d INFO {2}listening \(host 127\.0\.0\.1, port \d+, mode simulation, .*\)\r$/m,
      );
      await server.printed(/print\(env\.step/);
      await using env = await connect(server.url());
      await env.reset();
      await expect(env.step({ amount: 1 })).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
      await server.printed(
        /^\d\d:\d\d:\d\d WARN {2}the environment failed in step \(session [\w-]{8,11}, step 1, fault environment\)\r\n {4}Error: no more\r\n( {4}at .*\r\n)+/m,
      );
      expect(server.stdout).not.toContain('"level":');
    },
  );

  test("prints the token by itself where there is no page", async () => {
    await using server = startOnTerminal(["--mode", "production"]);
    const [, token = ""] = await server.printed(/operator token: ([\w-]{32})\s/);
    expect(await statusOf(server.url(), token)).toBe(200);
  });

  test("makes none where one is set, and does not print that", async () => {
    await using server = startOnTerminal([], { OPENENV_OPERATOR_TOKEN: "of-the-user" });
    await server.printed(/\/web\/ {5}play in a browser/);
    expect(server.stdout).not.toContain("of-the-user");
    expect(await statusOf(server.url(), "of-the-user")).toBe(200);
  });

  test("shares it among workers, and with those that replace them", async () => {
    await using server = startOnTerminal(["--workers", "2"]);
    const [, token = ""] = await server.printed(PAGE);
    const pids = async (): Promise<number[]> => {
      const response = await fetch(`${server.url()}/web/server`, { headers: { authorization: `Bearer ${token}` } });
      return ((await response.json()) as { workers: { pid: number }[] }).workers.map(({ pid }) => pid);
    };
    const before = await pids();
    for (const pid of before.slice(0, 1)) process.kill(pid, "SIGKILL");
    await vi.waitFor(
      async () => {
        const now = await pids();
        expect([now.length, now.includes(before[0] ?? 0)]).toEqual([2, false]);
      },
      { timeout: 30_000, interval: 100 },
    );
    expect(server.stdout.split(token)).toHaveLength(2);
  });

  test.each(["/dev/tty", "/dev/null"])("ends when the terminal is closed, with %s as standard input", async (input) => {
    await using server = startOnTerminal(["--workers", "2"], {}, { input });
    await server.printed(PAGE);
    await server.closeTerminal();
    await expect.poll(() => statusOf(server.url()).catch(() => "closed"), { timeout: 30_000 }).toBe("closed");
  });

  test("keeps it when a change restarts the server", async () => {
    await using server = startOnTerminal(["--watch"]);
    const [, token = ""] = await server.printed(PAGE);
    await server.printed(/Watching/);
    await project.write("environment.ts", `${counterModule()}\n`);
    await server.printed(/Restarted after a change/);
    expect(await statusOf(server.url(), token)).toBe(200);
    expect(server.stdout.split(token)).toHaveLength(2);
  });

  test.each(["thread", "process"])("keeps it from the environment in a %s", async (isolation) => {
    await using server = startOnTerminal(["--isolation", isolation], {}, { file: "hosted.ts" });
    const [, token = ""] = await server.printed(PAGE);
    await server.printed(/environment sees operator: nothing/);
    expect(server.stdout.split(token)).toHaveLength(2);
  });
});

/** Runs the lines of TypeScript that were printed, with the printed command; what they print. */
async function playExample(printed: string, url: string): Promise<string> {
  const text = printed.replaceAll("\r", "");
  const [, command = "", code = ""] = /TypeScript \(npx openenv (.*)\)\n([\s\S]*?)\n\n/.exec(text) ?? [];
  expect(code).toContain(`connect("${url}")`);
  await project.write("play.ts", code);
  await using playing = startCommand(command.split(" "), { cwd: project.dir });
  expect([await playing.exited, playing.stderr]).toEqual([0, ""]);
  return playing.stdout;
}

/** Standard output and standard error are one terminal. */
function startOnTerminal(
  args: string[],
  env: Record<string, string> = {},
  { file = "environment.ts", input = "/dev/tty" } = {},
) {
  const command = [process.execPath, BIN, "serve", file, "--port", "0", ...args];
  const quoted = command.map((part) => `'${part}'`).join(" ");
  const child = spawn("script", ["-qefc", `exec ${quoted} <${input}`, "/dev/null"], {
    cwd: project.dir,
    env: { ...process.env, ...UNSET, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const exited = once(child, "close");
  return {
    get stdout() {
      return text;
    },
    url: () => /at (http:\S+)/.exec(text)?.[1] ?? "",
    async printed(pattern: RegExp): Promise<RegExpExecArray> {
      return await vi.waitFor(
        () => {
          const match = pattern.exec(text);
          if (match === null) throw new Error(`not printed: ${pattern} in ${text}`);
          return match;
        },
        { timeout: 60_000, interval: 50 },
      );
    },
    async closeTerminal() {
      child.kill("SIGKILL");
      await exited;
    },
    async [Symbol.asyncDispose]() {
      // As Ctrl-C on a terminal does.
      if (child.exitCode === null && child.signalCode === null) child.stdin.write("\u0003");
      await exited;
    },
  };
}
