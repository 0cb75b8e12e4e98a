import { secretOf } from "../tasks.js";

/** Guesses the secret of a task. */
export const oracle = ({ split, index }: { split: string; index: number }) => ({
  message: `[${secretOf(split, index)}]`,
});
