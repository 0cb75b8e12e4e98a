/** G: the right letter at the right place; Y: a letter of the word at another place; X: not in the word. */
export type Mark = "G" | "Y" | "X";

/** Marks each letter of a guess. A letter is marked G or Y at most as often as the secret has it, G first. */
export function markGuess(guess: string, secret: string): Mark[] {
  const marks: Mark[] = [];
  let left = "";
  for (let at = 0; at < secret.length; at++) {
    const green = guess[at] === secret[at];
    marks.push(green ? "G" : "X");
    if (!green) left += secret[at];
  }
  for (let at = 0; at < secret.length; at++) {
    const found = marks[at] === "G" ? -1 : left.indexOf(guess[at] as string);
    if (found === -1) continue;
    marks[at] = "Y";
    left = left.slice(0, found) + left.slice(found + 1);
  }
  return marks;
}

/** Two rows, letters above their marks. */
export function renderFeedback(guess: string, marks: readonly Mark[]): string {
  return `${guess.toUpperCase().split("").join(" ")}\n${marks.join(" ")}`;
}

export function countMarks(marks: readonly Mark[], wanted: Mark): number {
  let count = 0;
  for (const mark of marks) if (mark === wanted) count++;
  return count;
}
