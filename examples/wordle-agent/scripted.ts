import { markGuess } from "../../envs/wordle/feedback.js";
import { words } from "../../envs/wordle/words.js";
import type { GuessPolicy } from "./play.js";

const OPENING = "raise";
/** With more candidates than this, the frequency of letters is a good enough guide. */
const FEW = 200;

/**
 * Keeps the words that match all feedback and guesses the one that is likely to leave the fewest. Does not know the
 * secret.
 */
export function scriptedPolicy(): GuessPolicy {
  let candidates = [...words];
  return (news) => {
    const feedback = readFeedback(news);
    if (feedback === undefined) return `[${OPENING}]`;
    const { guess, marks } = feedback;
    candidates = candidates.filter((word) => word !== guess && markGuess(guess, word).join("") === marks);
    return `[${choose(candidates)}]`;
  };
}

function readFeedback(news: string): { guess: string; marks: string } | undefined {
  const rows = /Feedback:\n([A-Z ]+)\n([GYX ]+)$/m.exec(news);
  if (rows === null) return undefined;
  const [, guess = "", marks = ""] = rows;
  return { guess: guess.replaceAll(" ", "").toLowerCase(), marks: marks.replaceAll(" ", "") };
}

function choose(candidates: readonly string[]): string {
  const score = candidates.length > FEW ? scoreLetters(candidates) : scoreSplit(candidates);
  const [first, ...others] = candidates;
  if (first === undefined) throw new Error("no word matches the feedback: the server uses another word list");
  return others.reduce((best, word) => (score(word) > score(best) ? word : best), first);
}

/** Words with letters that many candidates have; each letter counts once. */
function scoreLetters(candidates: readonly string[]): (word: string) => number {
  const counts = new Map<string, number>();
  for (const word of candidates) for (const letter of new Set(word)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return (word) => [...new Set(word)].reduce((sum, letter) => sum + (counts.get(letter) ?? 0), 0);
}

/** Words whose feedback best distinguishes the candidates. */
function scoreSplit(candidates: readonly string[]): (word: string) => number {
  const scores = new Map<string, number>();
  for (const word of candidates) {
    const groups = new Set(candidates.map((secret) => markGuess(word, secret).join("")));
    scores.set(word, groups.size);
  }
  return (word) => scores.get(word) ?? 0;
}
