import { afterEach, expect, test, vi } from "vitest";
import { COMMAND, health } from "../../../../test-support/upstreams/fleets.js";
import { checkCommand, commandProvider, startCommand } from "./command-provider.js";

// The other tests of this worker have the same variables.
afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["python -m my_env", ["python", "-m", "my_env"]],
  [`  "a b"c 'd "e"' --f="g h" "" `, ["a bc", 'd "e"', "--f=g h", ""]],
  ["C:\\\\python.exe $HOME", ["C:\\\\python.exe", "$HOME"]],
])("the words of %s", (command, words) => {
  expect(checkCommand(command)).toEqual(words);
});

test.each([
  ["", "command must be a program"],
  ["python 'a", "has a quote that is not closed"],
])("the command %j is refused", (command, message) => {
  expect(() => commandProvider({ command })).toThrow(message);
});

test("a command gets an address and no token of this process", async () => {
  vi.stubEnv("OPENENV_CLIENT_TOKEN", "secret-1");
  vi.stubEnv("OPENENV_API_KEY", "secret-2");
  vi.stubEnv("OPENENV_OPERATOR_TOKEN_FILE", "/secret-3");
  vi.stubEnv("JOURNAL", "redis://:secret-4@host");
  vi.stubEnv("WORKERS", "2");
  vi.stubEnv("HF_TOKEN", "for the environment");
  const wait = async ({ url }: { url: string | readonly string[] }): Promise<string> => {
    await expect.poll(() => health(String(url)).catch(() => undefined)).toBeDefined();
    return String(url);
  };
  const spec = { directory: ".", env: { GREETING: "hello", PORT: "1" } };
  const readiness = { waiting: "its health", wait };
  await using started = await startCommand(`${COMMAND} serves '\${HOST}:$PORT' $PORTS`, spec, { readiness });
  const { variables, args } = await health(started.url);
  const { host, port, hostname } = new URL(started.url);
  expect(args).toEqual(["serves", host, "$PORTS"]);
  expect(variables).toMatchObject({ HOST: hostname, PORT: port, GREETING: "hello", HF_TOKEN: "for the environment" });
  expect(JSON.stringify(variables)).not.toContain("secret-");
  expect(variables).not.toHaveProperty("WORKERS");
});

test("a source or an option that it does not have is refused", async () => {
  await expect(commandProvider({ command: "a" }).start({ image: "b" })).rejects.toThrow("starts a command in a folder");
  await expect(commandProvider({ command: "a" }).start({ directory: ".", replicas: 2 })).rejects.toThrow("no replicas");
  expect(() => commandProvider({ command: "a", shell: true } as never)).toThrow('has no option "shell"');
});
