import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  callCommand,
  createProject,
  type Project,
  type Running,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { DICE_TOKEN, diceModule, playDice } from "../../../../test-support/journals/dice.js";

/** A server is started as a process. */
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const OPERATOR_TOKEN = "the-operators-token";
const AS_OPERATOR = { OPENENV_TOKEN: OPERATOR_TOKEN };
const AS_HOLDER = { OPENENV_SESSION_TOKEN: DICE_TOKEN };
/** What the holder of a session does not get: the results of `now()` and `record()`, and that no seed was given. */
const OUTSIDE = ["at", "luck", "seed"].flatMap((name) => ["--ignore", `observation.${name}`]);
const EQUAL = { code: 0, stdout: "1 episodes, 5 events: all equal\n", stderr: "" };

let project: Project;
let server: Running;
let url = "";
let played: Awaited<ReturnType<typeof playDice>>;
const replay = (env: Record<string, string>, ...args: string[]) =>
  callCommand(["replay", ...args], { cwd: project.dir, env });

beforeAll(async () => {
  project = await createProject({
    "environment.ts": diceModule(),
    "loaded.ts": diceModule("rng.int(1, 6) + 1"),
    "sessions.jsonl": "",
  });
  const env = { OPENENV_OPERATOR_TOKEN: OPERATOR_TOKEN };
  server = startCommand(["serve", "--port", "0", "--journal", "dice.db"], { cwd: project.dir, env });
  [, url = ""] = await server.printed(/at (http:\S+)/);
  played = await playDice(url);
});
afterAll(async () => {
  await played?.socket[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
});

describe("openenv replay of a session of a server", () => {
  test("is exact for an operator, who gets what came from outside", async () => {
    expect(await replay(AS_OPERATOR, url, "--session", played.id)).toEqual(EQUAL);
    expect(await replay(AS_OPERATOR, url, "--session", played.id, "--against", url, ...OUTSIDE)).toEqual(EQUAL);
  });

  test("plays the same random numbers for the holder of its token", async () => {
    expect(await replay(AS_HOLDER, url, "--session", played.id, ...OUTSIDE)).toEqual(EQUAL);
  });

  test("names the first difference of a changed environment by event and field", async () => {
    const { code, stdout } = await replay(AS_OPERATOR, url, "loaded.ts", "--session", played.id);
    expect(stdout).toContain(`session ${played.id}, event 4 (step): observation.total was`);
    expect(code).toBe(1);
  });

  test("is played from a journal by its name, too", async () => {
    expect(await replay({}, "dice.db", "--session", played.id)).toEqual(EQUAL);
    expect(await replay({}, "dice.db", "--session", "none")).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: The journal has no session none.\n",
    });
  });

  test("needs a session, its token, and a server that knows it: one line, exit code 2", async () => {
    const other = createServer((_request, response) => void response.end('{"events":[{"event":"one"}]}')).listen(0);
    const otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const cases: [Record<string, string>, string[], RegExp][] = [
      [AS_OPERATOR, [url], /^error: Name a session of http:\S+ with --session\.$/],
      [AS_OPERATOR, [url, "--session", "none"], /answered 404: No session "none" is open here\.$/],
      [{}, [url, "--session", played.id], /answered 401: reading a session needs its token/],
      [{ OPENENV_SESSION_TOKEN: "another" }, [url, "--session", played.id], /answered 401: /],
      [AS_OPERATOR, ["http://127.0.0.1:1", "--session", "any"], /^error: .*127\.0\.0\.1:1/],
      [AS_OPERATOR, [otherUrl, "--session", "any"], /does not answer with the events of a session\.$/],
      [{}, ["sessions.jsonl", "--session", "any"], /^error: --session names a session of a server or of a journal\.$/],
    ];
    for (const [env, args, message] of cases) {
      const { code, stdout, stderr } = await replay(env, ...args);
      expect(stderr.trim()).toMatch(message);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    }
    other.close();
  });
});
