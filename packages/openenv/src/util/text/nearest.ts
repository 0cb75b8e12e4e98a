/** The most edits after which a word still counts as a slip of another. */
const MOST_EDITS = 2;

/** The candidate that a word was most likely meant to be, in whatever case; undefined when none is near. */
export function findNearest(word: string, candidates: readonly string[]): string | undefined {
  const given = word.toLowerCase();
  const rated = candidates.map((candidate) => ({ candidate, edits: countEdits(given, candidate.toLowerCase()) }));
  const [best] = rated.sort((a, b) => a.edits - b.edits);
  // Of a short word half would be another one.
  return best && best.edits <= Math.min(MOST_EDITS, given.length / 2) ? best.candidate : undefined;
}

/** Letters put in, taken out or replaced; what is longer by more than counts is not looked at. */
function countEdits(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MOST_EDITS) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
