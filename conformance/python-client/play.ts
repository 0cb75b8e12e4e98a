import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Running, startCommand } from "../../test-support/commands/command-line.js";

/** What each call of a scenario returned or raised. */
export type ScenarioResults = ReadonlyMap<string, unknown[]>;

/** How long the slow step takes; the client that gives up waiting does so after 3 s. */
const SLOW_MS = 10_000;
const NOBODY = "http://127.0.0.1:9";
const COUNTER = new URL("./counter.ts", import.meta.url);
const TOOLS = new URL("./tools.ts", import.meta.url);
const ECHO = new URL("../../envs/echo/server/environment.ts", import.meta.url);
const STRICT_COUNTER = new URL("./strict-counter.ts", import.meta.url);

/** Serves the environments with the command line and plays all scenarios of `scenarios.py` against them. */
export async function playScenarios(python: string): Promise<ScenarioResults> {
  await using open = await serve(COUNTER);
  await using production = await serve(COUNTER, { args: ["--mode", "production"] });
  await using tools = await serve(TOOLS);
  await using echo = await serve(ECHO);
  const strictOptions = { args: ["--max-concurrent-envs", "1"], env: { SLOW_MS: String(SLOW_MS) } };
  let strict = await serve(STRICT_COUNTER, strictOptions);
  try {
    const served = { open: open.url, production: production.url, tools: tools.url, echo: echo.url };
    const urls = { ...served, strict: strict.url, nobody: NOBODY };
    return await runPython(python, urls, async () => {
      const { port } = new URL(strict.url);
      await strict[Symbol.asyncDispose]();
      strict = await serve(STRICT_COUNTER, { ...strictOptions, port });
    });
  } finally {
    await strict[Symbol.asyncDispose]();
  }
}

interface Served extends AsyncDisposable {
  url: string;
}

interface ServeOptions {
  args?: string[];
  env?: Record<string, string>;
  port?: string;
}

async function serve(file: URL, { args = [], env = {}, port = "0" }: ServeOptions = {}): Promise<Served> {
  const command = ["serve", fileURLToPath(file), "--log-level", "error", "--port", port, ...args];
  const running: Running = startCommand(command, { cwd: import.meta.dirname, env });
  const [, url = ""] = await running.printed(/ at (http:\S+)/);
  return { url, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

interface Line {
  scenario: string;
  waits?: true;
  results: unknown[];
}

async function runPython(python: string, urls: object, restart: () => Promise<void>): Promise<ScenarioResults> {
  const child = spawn(python, [join(import.meta.dirname, "scenarios.py"), JSON.stringify(urls)]);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const exited = once(child, "close") as Promise<[number]>;
  const results = new Map<string, unknown[]>();
  try {
    for await (const text of createInterface(child.stdout)) {
      const line = JSON.parse(text) as Line;
      if (line.waits) {
        await restart();
        child.stdin.write("go on\n");
      } else results.set(line.scenario, line.results);
    }
  } finally {
    child.kill();
  }
  const [code] = await exited;
  if (code !== 0) throw new Error(`the scenarios ended with ${code}:\n${errors}`);
  return results;
}
