/** The largest number of edits at which a word still counts as a typo. */
const MAX_EDITS = 2;

/** The candidate that a word most likely stands for, ignoring case; undefined when none is near. */
export function findNearest(word: string, candidates: readonly string[]): string | undefined {
  const given = word.toLowerCase();
  const rated = candidates.map((candidate) => ({ candidate, edits: countEdits(given, candidate.toLowerCase()) }));
  const [best] = rated.sort((a, b) => a.edits - b.edits);
  // More than half of a short word would be another word.
  return best && best.edits <= Math.min(MAX_EDITS, given.length / 2) ? best.candidate : undefined;
}

/** Counts inserted, deleted and replaced letters. */
function countEdits(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_EDITS) return Number.POSITIVE_INFINITY;
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
