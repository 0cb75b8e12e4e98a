import type { TextSpan, TextTone, ViewPart } from "openenv-ts";
import type { Mark } from "./feedback.js";
import type { Guess } from "./game.js";

const TONES: Record<Mark, TextTone> = { G: "positive", Y: "caution", X: "neutral" };

/** Every guess with its marks below the letters, then what is to be known. */
export function renderBoard(history: readonly Guess[], note: string): ViewPart[] {
  const told: ViewPart = { kind: "text", runs: [{ text: note }] };
  return [...history.map((guess): ViewPart => ({ kind: "text", runs: renderGuess(guess) })), told];
}

function renderGuess({ word, marks }: Guess): TextSpan[] {
  const letters = ` ${[...word.toUpperCase()].join("   ")} \n`;
  const spaced = marks.flatMap((mark, at): TextSpan[] => [
    ...(at === 0 ? [] : [{ text: " ", mono: true }]),
    { text: ` ${mark} `, tone: TONES[mark], mono: true },
  ]);
  return [{ text: letters, mono: true }, ...spaced];
}
