import { once } from "node:events";
import { createConnection } from "node:net";
import { expect, test } from "vitest";
import { createProject, runCommand, startCommand } from "../../../../test-support/commands/command-line.js";
import { diceModule, playDice } from "../../../../test-support/journals/dice.js";
import { startRedis } from "../../../../test-support/journals/redis.js";
import { requireRedis } from "../../../../test-support/requirement.js";

const component = await requireRedis();

/** The sessions and the keys: a reader that took a lease would have one. */
async function keysOf(url: string): Promise<string[]> {
  const socket = createConnection(Number(new URL(url).port), "127.0.0.1").setEncoding("utf8");
  let text = "";
  socket.on("data", (chunk: string) => (text += chunk)).write("SMEMBERS openenv:journal:ids\r\nKEYS *\r\nQUIT\r\n");
  await once(socket, "close");
  return text.split("\r\n").sort();
}

test.skipIf(!component.available)(
  "openenv replay reads a journal in Redis while a server uses it, and after it",
  { timeout: 90_000 },
  async () => {
    await using redis = await startRedis(component.path);
    await using project = await createProject({
      "environment.ts": diceModule(),
      "loaded.ts": diceModule("rng.int(1, 6) + 1"),
    });
    const options = { cwd: project.dir };
    const replay = (...args: string[]) => runCommand(["replay", redis.url, ...args], options);
    expect(await replay()).toEqual({ code: 2, stdout: "", stderr: "error: The journal has no sessions.\n" });

    await using server = startCommand(["serve", "--port", "0", "--journal", redis.url], options);
    const [, url = ""] = await server.printed(/at (http:\S+)/);
    const { socket, id } = await playDice(url);
    await using _socket = socket;
    const before = await keysOf(redis.url);
    const equal = { code: 0, stdout: "1 episodes, 5 events: all equal\n", stderr: "" };
    expect(await replay()).toEqual(equal);
    expect(await keysOf(redis.url)).toEqual(before);
    server.process.kill("SIGKILL");
    await server.exited;
    expect(await replay()).toEqual(equal);
    const { code, stdout } = await replay("loaded.ts");
    expect(stdout).toContain(`session ${id}, event 4 (step): observation.total was`);
    expect(code).toBe(1);
  },
);
