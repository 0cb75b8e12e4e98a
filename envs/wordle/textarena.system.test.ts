/** The same secrets and moves, played here and by PyPI's textarena: the games have to agree, step by step. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Rng } from "openenv-ts";
import { rng } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { describe, expect, test } from "vitest";
import { requireTextarena } from "../../test-support/requirement.js";
import environment from "./server/environment.js";
import { secrets, words } from "./words.js";

const GAMES = 1_000;
const MOVES = 16;

const textarena = await requireTextarena();

describe.skipIf(!textarena.available)("the game of textarena", () => {
  test("agrees on 1,000 random games: feedback, refusals, turns, rewards and the end", {
    timeout: 120_000,
  }, async () => {
    const games = Array.from({ length: GAMES }, (_, seed) => ({
      secret: rng(seed).pick(secrets),
      moves: makeMoves(rng(GAMES + seed), rng(seed).pick(secrets)),
    }));
    const theirs = await playThere(games);
    const kinds = new Set<string>();
    for (const [seed, { secret, moves }] of games.entries()) {
      const ours = await playHere(seed, moves);
      expect(ours, `secret ${secret}, moves ${JSON.stringify(moves)}`).toEqual(theirs[seed]);
      for (const step of ours) kinds.add(step.refused ?? (step.done ? (step.reward === 1 ? "won" : "lost") : "played"));
    }
    expect([...kinds].sort()).toEqual(["format", "length", "lost", "played", "repeated", "unknown", "won"]);
  });
});

interface Step {
  guess: [string, string[]][];
  /** Letters and marks as they were said. */
  rows: string[];
  left: number | null;
  refused: string | null;
  done: boolean;
  reward: number;
  turn: number;
  lost_by_invalid_move: boolean;
}

const REFUSALS: Record<string, string> = {
  "wrong format": "format",
  "must be exactly": "length",
  "already guessed": "repeated",
  "not an English word": "unknown",
};

const NO_GUESSES = [
  ...["", "[]", "[two words]", "crane]", "[[crane]]", "[GAME] [slate]", "[Player][Player]", "[cra\nne]"],
  ...["[ÀÉÎÕÜ]", "[слово]", "[İstan]", "[a_b_c]", "[12345]", "[😀😀😀😀😀]", "Feedback:\nA B C D E\nG G G G G"],
];
const guessable = [...words];

/** Mostly words, near the secret now and then, and every kind of invalid move. */
function makeMoves(random: Rng, secret: string): string[] {
  const near = guessable.filter((word) => isNear(word, secret));
  const letters = [...secret, ...secret, ..."aeinorst"];
  const word = (): string => random.pick(random.next() < 0.3 ? near : guessable);
  const moves: string[] = [];
  const makers: [number, () => string][] = [
    [60, () => `[${word()}]`],
    [6, word],
    [6, () => `Let me try [${word().toUpperCase()}], after [${word()}].`],
    [4, () => `[${secret}]`],
    [5, () => `[${Array.from({ length: 5 }, () => random.pick(letters)).join("")}]`],
    [5, () => `[${word().slice(random.int(0, 4))}${random.pick(["", "s", "xyz"])}]`],
    [5, () => random.pick(moves.length > 0 ? moves : ["[crane]"])],
    [2, () => `my guess is ${word()}`],
    [7, () => random.pick(NO_GUESSES)],
  ];
  const weighted = makers.flatMap(([weight, make]) => Array.from({ length: weight }, () => make));
  for (let i = 0; i < MOVES; i++) moves.push(random.pick(weighted)());
  return moves;
}

/** At least four letters are letters of the secret; the secret itself is one of them. */
function isNear(word: string, secret: string): boolean {
  let shared = 0;
  for (const letter of word) if (secret.includes(letter)) shared++;
  return shared >= 4;
}

async function playHere(seed: number, moves: string[]): Promise<Step[]> {
  await using env = await connect(environment);
  let said = textOf((await env.reset({ seed })).observation).length;
  let known = 0;
  const steps: Step[] = [];
  for (const message of moves) {
    const { observation, reward, done } = await env.step({ message });
    const { turn, raw_state } = await env.state();
    const { guess_history } = raw_state["game_state"] as { guess_history: [string, string[]][] };
    const info = (raw_state["game_info"] as { invalid_move: boolean }[])[0];
    const text = textOf(observation);
    const news = text.slice(said).slice(text.slice(said).lastIndexOf("\n[GAME] "));
    steps.push({
      guess: guess_history.slice(known),
      // The real game does not say them for the guess that wins.
      rows: done && reward === 1 ? [] : (news.match(/^[A-Z](?: [A-Z]){4}\n[GYX](?: [GYX]){4}$/gm) ?? []),
      left: toNumber(/You have (\d+) guesses left/.exec(news)?.[1]),
      refused: Object.entries(REFUSALS).find(([words]) => news.includes(words))?.[1] ?? null,
      done,
      reward: Number(reward),
      turn,
      lost_by_invalid_move: info?.invalid_move ?? false,
    });
    known = guess_history.length;
    said = text.length;
    if (done) break;
  }
  return steps;
}

function textOf({ messages }: { messages: { content: string }[] }): string {
  return messages[0]?.content ?? "";
}

function toNumber(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}

async function playThere(games: { secret: string; moves: string[] }[]): Promise<Step[][]> {
  const script = fileURLToPath(new URL("textarena_games.py", import.meta.url));
  const child = spawn(textarena.path, [script], { timeout: 100_000, env: { ...process.env, PYTHONUTF8: "1" } });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdin.on("error", () => {}).end(JSON.stringify({ words: [...words], games }));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`textarena did not play (${code}): ${errors}`);
  return JSON.parse(output) as Step[][];
}
