import { createTasks } from "openenv-ts";
import { secrets } from "./words.js";

/** One secret in so many is in the split `test`. */
const TEST_SHARE = 10;

/** Secrets come in the order of how common they are: both splits have all classes. */
const words = {
  train: secrets.filter((_, at) => at % TEST_SHARE !== TEST_SHARE - 1),
  test: secrets.filter((_, at) => at % TEST_SHARE === TEST_SHARE - 1),
};

/** A game for each secret. A task does not show its word: trainers put tasks into data sets, and some into prompts. */
export const tasks = createTasks({ train: words.train.map(nameGame("train")), test: words.test.map(nameGame("test")) });

/** The secret of a task that exists. */
export function secretOf(split: string, index: number): string {
  return words[split as keyof typeof words][index] as string;
}

function nameGame(split: string) {
  return (_word: string, index: number) => ({ game: `${split}-${index}` });
}
