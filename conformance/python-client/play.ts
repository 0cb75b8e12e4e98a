import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Running, startCommand } from "../../test-support/commands/command-line.js";

/** The result or error of each call of a scenario. */
export type ScenarioResults = ReadonlyMap<string, unknown[]>;

/** Duration of the slow step; the client times out after 3 s. */
const SLOW_MS = 10_000;
const NOBODY = "http://127.0.0.1:9";
const COUNTER = new URL("./counter.ts", import.meta.url);
const TOOLS = new URL("./tools.ts", import.meta.url);
const ECHO = new URL("../../envs/echo/server/environment.ts", import.meta.url);
const STRICT_COUNTER = new URL("./strict-counter.ts", import.meta.url);

/** What serves, and a PATH where its command is. */
interface Host {
  runtime: string;
  PATH: string;
}

/** Serves the environments with the CLI and runs all scenarios of `scenarios.py` against them. */
export async function playScenarios(python: string, host: Host): Promise<ScenarioResults> {
  const serve = (file: URL, options?: ServeOptions) => serveOn(host, file, options);
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

async function serveOn(
  { runtime, PATH }: Host,
  file: URL,
  { args = [], env = {}, port = "0" }: ServeOptions = {},
): Promise<Served> {
  const options = ["--runtime", runtime, "--log-level", "error", "--port", port];
  const command = ["serve", fileURLToPath(file), ...options, ...args];
  const running: Running = startCommand(command, { cwd: import.meta.dirname, env: { ...env, PATH } });
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
        child.stdin.write("continue\n");
      } else results.set(line.scenario, line.results);
    }
  } finally {
    child.kill();
  }
  const [code] = await exited;
  if (code !== 0) throw new Error(`the scenarios exited with code ${code}:\n${errors}`);
  return results;
}
