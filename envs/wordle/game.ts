import { countMarks, type Mark, markGuess, renderFeedback } from "./feedback.js";
import type { Rules, Verdict } from "./turn-game.js";
import { WORD_LENGTH, words } from "./words.js";

export interface Guess {
  word: string;
  marks: readonly Mark[];
}

/** One secret word and the guesses at it. */
export class WordleGame implements Rules {
  readonly players = 1;
  readonly secret: string;
  readonly guesses: number;
  readonly prompt: string;
  readonly history: Guess[] = [];

  constructor(secret: string, guesses: number) {
    this.secret = secret;
    this.guesses = guesses;
    this.prompt = [
      `This is Wordle. Find the secret English word of ${WORD_LENGTH} letters; you have ${count(guesses, "guess")}.`,
      "Write each guess in square brackets, such as [apple]. It must be a word you have not tried yet.",
      "After a guess every letter gets a mark:",
      "  G  it is in the word, at this place",
      "  Y  it is in the word, at another place",
      "  X  it is not in the word, or not this often",
      "",
    ].join("\n");
  }

  judge(move: string): Verdict {
    const found = /\[([\p{L}\p{N}_]+)\]/u.exec(move)?.[1]?.toLowerCase();
    const reason = this.#refuse(found);
    if (found === undefined || reason !== undefined) return { outcome: "invalid", reason: reason ?? "" };
    const marks = markGuess(found, this.secret);
    this.history.push({ word: found, marks });
    return this.#answer(found, marks);
  }

  forfeit(): readonly number[] {
    return [this.completion];
  }

  /** How much of the latest guess was right, 0 to 1; a letter at another place is half right. */
  get completion(): number {
    const marks = this.history.at(-1)?.marks ?? [];
    return (countMarks(marks, "G") + countMarks(marks, "Y") / 2) / WORD_LENGTH;
  }

  /** Programs that play look for: wrong format, must be exactly, You have already guessed, is not an English word. */
  #refuse(word: string | undefined): string | undefined {
    if (word === undefined) return "The guess has the wrong format: it has to be one word in square brackets.";
    if (Array.from(word).length !== WORD_LENGTH) return `The word must be exactly ${WORD_LENGTH} letters long.`;
    if (this.history.some((guess) => guess.word === word)) return `You have already guessed '${word}'.`;
    if (!words.has(word)) return `'${word}' is not an English word.`;
    return undefined;
  }

  #answer(word: string, marks: readonly Mark[]): Verdict {
    const feedback = `You submitted [${word}].\nFeedback:\n${renderFeedback(word, marks)}`;
    const left = this.guesses - this.history.length;
    if (word === this.secret) {
      const reason = `You found the word in ${count(this.history.length, "guess")}.`;
      return { outcome: "over", text: `${feedback}\n${reason}`, reason, rewards: [1] };
    }
    const told = `${feedback}\nYou have ${left} guesses left.`;
    if (left > 0) return { outcome: "played", text: told };
    const percent = Math.round(this.completion * 100);
    const reason = `The word was ${this.secret}; your last guess was ${percent} % right.`;
    return { outcome: "over", text: `${told}\n${reason}`, reason, rewards: [this.completion] };
  }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "es"}`;
}
