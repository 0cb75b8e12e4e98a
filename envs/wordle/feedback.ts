/** G: the right letter at the right place; Y: a letter of the word at another place; X: not in the word. */
export type Mark = "G" | "Y" | "X";

/** Marks each letter of a guess. A letter is marked G or Y at most as often as the secret has it, G first. */
export function markGuess(guess: string, secret: string): Mark[] {
  const marks: Mark[] = Array.from(guess, (letter, at) => (letter === secret[at] ? "G" : "X"));
  const left = Array.from(secret).filter((_, at) => marks[at] !== "G");
  for (const [at, letter] of Array.from(guess).entries()) {
    const found = marks[at] === "G" ? -1 : left.indexOf(letter);
    if (found === -1) continue;
    marks[at] = "Y";
    left.splice(found, 1);
  }
  return marks;
}

/** Two rows, letters above their marks. */
export function renderFeedback(guess: string, marks: readonly Mark[]): string {
  return `${Array.from(guess.toUpperCase()).join(" ")}\n${marks.join(" ")}`;
}

export function countMarks(marks: readonly Mark[], wanted: Mark): number {
  return marks.filter((mark) => mark === wanted).length;
}
