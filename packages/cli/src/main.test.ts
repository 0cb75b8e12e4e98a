import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { callCommand, runCommand } from "../../../test-support/commands/command-line.js";

const cwd = import.meta.dirname;

describe("openenv", () => {
  test("prints its commands when it is called without one", async () => {
    const { code, stdout, stderr } = await runCommand([], { cwd });
    expect(stdout).toMatch(/serve .*\n\s+run .*\n\s+schema /);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("--version prints the version of the package", async () => {
    const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    expect(await callCommand(["--version"], { cwd })).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" });
  });

  test("--help loads no package but the option parser", async () => {
    const hooks = `
      import { writeSync } from "node:fs";
      export async function resolve(name, context, next) {
        const found = await next(name, context);
        writeSync(2, found.url + "\\n");
        return found;
      }`;
    const register = `import { register } from "node:module"; register(${JSON.stringify(asDataUrl(hooks))});`;
    const { stderr } = await runCommand(["--help"], {
      cwd,
      env: { NODE_OPTIONS: `--import ${JSON.stringify(asDataUrl(register))}` },
    });
    const packages = [...stderr.matchAll(/node_modules\/([^/]+)/g)].map((match) => match[1]);
    expect(new Set(packages)).toEqual(new Set(["commander"]));
  });

  test("every command, and every command of a command, has examples in its help", async () => {
    const namesIn = (help: string): string[] => {
      const listed = help.split("Commands:\n")[1]?.split("\n\n")[0] ?? "";
      return [...listed.matchAll(/^ {2}(\w+)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
    };
    const check = async (...command: string[]): Promise<void> => {
      const { code, stdout } = await callCommand([...command, "--help"], { cwd });
      expect(code).toBe(0);
      const inner = command.length < 2 ? namesIn(stdout) : [];
      for (const name of inner) await check(...command, name);
      if (inner.length === 0) expect(stdout, command.join(" ")).toMatch(/Examples?:\n.*openenv /);
    };
    await check();
  });

  test("help <command> prints the help of the command", async () => {
    const { stdout } = await callCommand(["help", "serve"], { cwd });
    expect(stdout).toContain("--max-concurrent-envs");
  });

  test.each([
    [["serv"], /^error: unknown command 'serv' \(Did you mean serve\?\)\n$/],
    [["--verson"], /^error: unknown option '--verson' \(Did you mean --version\?\)\n$/],
    [["serve", "--prot", "1"], /^error: unknown option '--prot' \(Did you mean --port\?\)\n$/],
    [["serve", "--port", "abc"], /^error: .*--port.*'abc'.*from 0 to 65535; see `openenv serve --help`\n$/],
    [["serve", "--port", "65536"], /^error: .*'65536'.*from 0 to 65535.*\n$/],
    [["serve", "--max-concurrent-envs", "0"], /^error: .*'0'.*an integer from 1 to 10000000.*\n$/],
    [["serve", "--session-timeout", "-1"], /^error: .*'-1'.*a number of seconds from 0.001 to 2000000, or "none".*\n$/],
    [["serve", "--mode", "training"], /^error: .*'training'.*simulation, production.*\n$/],
    [["serve", "--log-level", "loud"], /^error: .*'loud'.*warn.*\n$/],
    [["serve", "one", "two"], /^error: too many arguments for 'serve'.*; see `openenv serve --help`\n$/],
    [["deploy", "render", "--nodes", "0"], /^error: .*'0'.*from 1 on; see `openenv deploy render --help`\n$/],
    [["client", "python", "a", "b"], /^error: too many arguments.*; see `openenv client python --help`\n$/],
    [["run"], /^error: missing required argument 'file'; see `openenv run --help`\n$/],
  ])("%j is a usage error in one line", async (args, message) => {
    const { code, stdout, stderr } = await callCommand(args, { cwd });
    expect(stderr).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });
});

function asDataUrl(module: string): string {
  return `data:text/javascript,${encodeURIComponent(module)}`;
}
