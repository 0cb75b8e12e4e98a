import { countMarks, type Mark } from "./feedback.js";
import { WORD_LENGTH } from "./words.js";

/** What a trainer may shape a reward with, each for the guess of one step. */
export interface RewardSignals extends Record<string, number> {
  /** Part of the letters at their place. */
  "wordle.greens": number;
  /** Part of the letters at another place. */
  "wordle.yellows": number;
  /** 1 for a new guess, 0 for the first repetition, then falling by 1. */
  "wordle.repetitions": number;
  /** The reward of the step. */
  "wordle.correct": number;
}

/** Computes the signals of one episode, step by step. */
export class SignalTracker {
  readonly #seen = new Map<string, number>();

  /** `marks` is empty when the guess was invalid. */
  track(message: string, marks: readonly Mark[], reward: number): RewardSignals {
    return {
      "wordle.greens": countMarks(marks, "G") / WORD_LENGTH,
      "wordle.yellows": countMarks(marks, "Y") / WORD_LENGTH,
      "wordle.repetitions": 1 - this.#countEarlier(message),
      "wordle.correct": reward,
    };
  }

  #countEarlier(message: string): number {
    const guess = readGuess(message);
    if (guess === undefined) return 0;
    const earlier = this.#seen.get(guess) ?? 0;
    this.#seen.set(guess, earlier + 1);
    return earlier;
  }
}

/** What was meant, also without brackets; undefined when fewer than five letters were said. */
function readGuess(message: string): string | undefined {
  const inBrackets = /\[([a-z]{5})\]/i.exec(message)?.[1]?.toLowerCase();
  if (inBrackets !== undefined) return inBrackets;
  const letters = message.toLowerCase().replace(/[^a-z]/g, "");
  return letters.length < WORD_LENGTH ? undefined : letters.slice(0, WORD_LENGTH);
}
