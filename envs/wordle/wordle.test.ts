import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rng } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { checkEnvironment, checkServer, renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test } from "vitest";
import { wordle } from "./models.js";
import environment from "./server/environment.js";
import { readSettings } from "./settings.js";
import { secretOf, tasks } from "./tasks.js";
import { secrets, words } from "./words.js";

const SEED = 7;
const secret = rng(SEED).pick(secrets);
const misses = ["fuzzy", "jumpy", "vivid", "mummy", "cocoa", "civic", "puppy"].filter((word) => word !== secret);

async function start() {
  const env = await connect(environment);
  return { env, first: await env.reset({ seed: SEED }) };
}

const text = (result: { observation: { messages: { content: string }[] } }) => result.observation.messages[0]?.content;
const signals = (result: { observation: { info: Record<string, unknown> } }) =>
  result.observation.info["reward_signals"];

describe("the wordle environment", () => {
  test("begins with the rules and an empty history", async () => {
    const { first } = await start();
    expect(first.observation).toEqual({
      prompt: expect.stringContaining("5 letters; you have 6 guesses"),
      messages: [{ sender_id: -1, content: `\n[GAME] ${first.observation.prompt}`, category: "MESSAGE" }],
      current_player_id: 0,
      legal_players: [0],
      info: {},
    });
    expect([first.reward, first.done]).toEqual([0, false]);
    expect(first.metadata).toMatchObject({ env_id: "Wordle-v0", turn: 0 });
  });

  test("appends to one message, from which a step's news can be cut", async () => {
    const { env, first } = await start();
    const before = text(first) ?? "";
    const after = text(await env.step({ message: "[fuzzy]" })) ?? "";
    expect(after.startsWith(before)).toBe(true);
    expect(after.slice(before.length)).toMatch(
      /^\n\[GAME\] \[fuzzy\]\n\[GAME\] You submitted \[fuzzy\]\.\nFeedback:\nF U Z Z Y\n[GYX]( [GYX]){4}\nYou have 5 guesses left\.$/,
    );
  });

  test("shows people the board, letters above their marks in colour", async () => {
    const made = await environment.create();
    const call = {
      ...{ signal: new AbortController().signal, timeoutMs: undefined, rng: rng(SEED), now: Date.now },
      record: async <T>(_name: string, effect: (key: string) => T | PromiseLike<T>) => await effect("key"),
    };
    const asked = { seed: SEED, episodeId: "e", split: undefined, index: undefined };
    const { observation } = await made.reset({ ...asked, ...call });
    expect(await made.render?.(observation)).toEqual([{ kind: "text", runs: [{ text: "6 of 6 guesses left." }] }]);
    const context = { ...call, metadata: {}, requestId: undefined };
    await made.step({ message: "[fuzzy]" }, context);
    const invalid = await made.step({ message: "[nothing]" }, context);
    const [board, note] = (await made.render?.(invalid.observation)) ?? [];
    const [letters, ...marks] = board?.kind === "text" ? board.runs : [];
    expect(letters).toEqual({ text: " F   U   Z   Z   Y \n", mono: true });
    const tones = marks.filter(({ tone }) => tone).map(({ text, tone }) => text.trim() + tone);
    expect(tones.join(" ")).toMatch(/^([GYX](positive|caution|neutral) ?){5}$/);
    expect(note).toMatchObject({ runs: [{ text: expect.stringMatching(/invalid move.*\n5 of 6 guesses left\.$/s) }] });
    await made.step({ message: `[${secret}]` }, context);
    const won = await made.render?.(invalid.observation);
    expect(won?.at(-1)).toEqual({ kind: "text", runs: [{ text: "You found the word in 2 guesses." }] });
  });

  test("is won by the secret, whatever stands around it", async () => {
    const { env } = await start();
    await env.step({ message: "[fuzzy]" });
    const won = await env.step({ message: `It must be [${secret.toUpperCase()}], not [other].` });
    expect([won.reward, won.done, won.outcome]).toEqual([1, true, "terminated"]);
    expect(text(won)).toContain("G G G G G\nYou found the word in 2 guesses.");
    expect(won.observation.info["reason"]).toBe("You found the word in 2 guesses.");
    expect(signals(won)).toMatchObject({ "wordle.greens": 1, "wordle.yellows": 0, "wordle.correct": 1 });
  });

  test("is lost after six guesses: reveals the secret and rewards the last guess in part", async () => {
    const { env } = await start();
    for (const word of misses.slice(0, 5))
      expect(await env.step({ message: word })).toMatchObject({ done: false, reward: 0 });
    const lost = await env.step({ message: misses[5] ?? "" });
    expect(lost.done).toBe(true);
    expect(text(lost)).toContain(`The word was ${secret}`);
    const { "wordle.greens": greens, "wordle.yellows": yellows } = signals(lost) as Record<string, number>;
    expect(lost.reward).toBeCloseTo((greens ?? 0) + (yellows ?? 0) / 2);
  });

  test.each([
    ["a sentence without brackets", "my guess is crane", "wrong format"],
    ["two words in the brackets", "[crane apple]", "wrong format"],
    ["nothing", "", "wrong format"],
    ["a short word", "[cat]", "must be exactly 5 letters"],
    ["a long word", "[bananas]", "must be exactly 5 letters"],
    ["what is no word", "[xqzjk]", "'xqzjk' is not an English word"],
    ["digits", "[12345]", "'12345' is not an English word"],
    ["letters of another script", "[слово]", "'слово' is not an English word"],
    ["five emoji", "[😀😀😀😀😀]", "wrong format"],
    ["a guess of before", "[FUZZY]", "You have already guessed 'fuzzy'"],
  ])("reports that %s is not a guess, and continues", async (_, message, reason) => {
    const { env } = await start();
    await env.step({ message: "[fuzzy]" });
    const ran = await env.step({ message });
    expect(ran).toMatchObject({ reward: 0, done: false });
    expect(text(ran)).toMatch(new RegExp(`You attempted an invalid move\\. Reason: [^\\n]*${reason}`));
    expect(signals(ran)).toMatchObject({ "wordle.greens": 0, "wordle.yellows": 0 });
    expect(text(await env.step({ message: "[jumpy]" }))).toContain("You have 4 guesses left.");
  });

  test("is over after two invalid guesses in a row", async () => {
    const { env } = await start();
    await env.step({ message: "[cat]" });
    const over = await env.step({ message: "[dog]" });
    expect([over.reward, over.done]).toEqual([0, true]);
    expect(text(over)).toContain("Game over: two invalid moves in a row.");
    expect((await env.state()).raw_state["game_info"]).toMatchObject({ 0: { invalid_move: true, turn_count: 1 } });
  });

  test("gives nothing to who plays on when it is over", async () => {
    const { env } = await start();
    const won = await env.step({ message: secret });
    const after = await env.step({ message: secret });
    expect(after).toMatchObject({ reward: 0, done: true });
    expect(text(after)).toBe(text(won));
    expect(after.observation.info).toEqual({ reason: "The game is over: reset to play another." });
    expect((await env.reset({ seed: SEED })).done).toBe(false);
  });

  test("counts repetitions of what was meant, with brackets and without", async () => {
    const { env } = await start();
    const repetitions = async (message: string) =>
      (signals(await env.step({ message })) as Record<string, number>)["wordle.repetitions"];
    expect(await repetitions("[fuzzy]")).toBe(1);
    expect(await repetitions("fuzzy")).toBe(0);
    expect(await repetitions("[jumpy]")).toBe(1);
    expect(await repetitions("no [fuzzy]!")).toBe(-1);
    expect(await repetitions("[vivid]")).toBe(1);
    expect(await repetitions("?")).toBe(1);
  });

  test("keeps the secret out of all it sends until the game is over", async () => {
    const { env, first } = await start();
    const sent = [first, await env.step({ message: "[fuzzy]" }), await env.state()];
    expect(JSON.stringify(sent).toLowerCase()).not.toContain(secret);
    for (const word of misses.slice(1, 6)) await env.step({ message: word });
    expect((await env.state()).raw_state["game_state"]).toMatchObject({ secret_word: secret });
  });

  test("shows the state of the reference", async () => {
    const { env } = await start();
    await env.step({ message: "[fuzzy]" });
    expect(await env.state()).toMatchObject({
      step_count: 1,
      env_id: "Wordle-v0",
      num_players: 1,
      max_turns: 6,
      turn: 1,
      last_reward: 0,
      last_info: { reward_signals: { "wordle.repetitions": 1 } },
      raw_state: {
        done: false,
        rewards: null,
        game_state: { guess_history: [["fuzzy", expect.any(Array)]], num_guesses: 6, word_length: 5 },
        role_mapping: { "-1": "GAME", "0": "Player" },
      },
    });
  });

  test("rejects a message beyond its limit, and continues", async () => {
    const { env } = await start();
    await expect(env.step({ message: "x".repeat(65_537) })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    expect(await env.step({ message: "[fuzzy]" })).toMatchObject({ done: false });
  });

  test("has a task for each secret, which does not show it and always plays the same game", async () => {
    const [train, hidden] = [tasks.count("train"), tasks.count("test")];
    expect([train, hidden]).toEqual([2054, 228]);
    expect(tasks.get("test", 3)).toEqual({ game: "test-3" });
    const all = new Set(["train", "test"].flatMap((split) => tasks.list(split).map((_, at) => secretOf(split, at))));
    expect(all).toEqual(new Set(secrets));
    expect(all.size).toBe(train + hidden);
    const { env } = await start();
    await env.reset({ split: "test", index: 3 });
    const { reward, done } = await env.step({ message: `[${secretOf("test", 3)}]` });
    expect([reward, done]).toEqual([1, true]);
    await expect(env.reset({ split: "test", index: hidden })).rejects.toThrow(/test/);
  });

  test("keeps the promises of every environment", async () => {
    const actions = ["[crane]", "[cat]", "[lousy]", "[might]"].map((message) => ({ message }));
    const report = await checkEnvironment(environment, { actions });
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const status = (check: string) => report.checks.find(({ id }) => id === check)?.status;
    expect(["replays", "seed_used"].map(status)).toEqual(["passed", "passed"]);
  });

  test("is served to many sessions at once, each with its own secret", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    const report = await checkServer(server.url);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const rewards = await Promise.all(
      Array.from({ length: 50 }, async (_, seed) => {
        await using env = await connect(server.url, wordle);
        await env.reset({ seed });
        return (await env.step({ message: `[${rng(seed).pick(secrets)}]` })).reward;
      }),
    );
    expect(rewards).toEqual(rewards.map(() => 1));
  });
});

describe("the words", () => {
  test("are the common ones for secrets, all of which may be guessed", () => {
    expect(secrets.length).toBeGreaterThan(2_000);
    expect(words.size).toBeGreaterThan(12_000);
    expect(new Set(secrets).size).toBe(secrets.length);
    expect(secrets.filter((word) => !words.has(word))).toEqual([]);
    for (const word of ["crane", "apple", "guess"]) expect(secrets.includes(word), word).toBe(true);
    expect(secrets.includes("words")).toBe(false);
  });
});

describe("the settings", () => {
  test("are those of the reference when nothing is said", () => {
    expect(readSettings({})).toEqual({ envId: "Wordle-v0", players: 1, guesses: 6 });
    expect(readSettings({ TEXTARENA_MAX_TURNS: "8" })).toMatchObject({ guesses: 8 });
  });

  test.each([
    ["TEXTARENA_ENV_ID", "Chess-v0", /TEXTARENA_ENV_ID must be one of Wordle-v0, not "Chess-v0"/],
    ["TEXTARENA_NUM_PLAYERS", "2", /TEXTARENA_NUM_PLAYERS must be 1/],
    ["TEXTARENA_MAX_TURNS", "0", /TEXTARENA_MAX_TURNS must be an integer from 1 to 20/],
    ["TEXTARENA_MAX_TURNS", "six", /TEXTARENA_MAX_TURNS must be an integer from 1 to 20/],
  ])("refuse %s=%s", (name, value, message) => {
    expect(() => readSettings({ [name]: value })).toThrow(message);
  });

  test("with another game end the start of a server", { timeout: 90_000 }, async () => {
    const app = fileURLToPath(new URL("dist/server/app.js", import.meta.url));
    const env = { ...process.env, PORT: "0", TEXTARENA_ENV_ID: "Chess-v0" };
    const failed = promisify(execFile)(process.execPath, [app], { env, timeout: 60_000 });
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('TEXTARENA_ENV_ID must be one of Wordle-v0, not "Chess-v0"'),
    });
  });
});
