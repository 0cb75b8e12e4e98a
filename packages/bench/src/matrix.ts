/** One number per round for each subject; null for a round in which it was not measured. */
export type Samples = Record<string, (number | null)[]>;

/**
 * Measures subjects in turn, A B C C B A …, so that other load on the machine, and the subject before, affect all alike.
 * A subject that is measured less often returns null.
 */
export async function interleave(
  rounds: number,
  subjects: Record<string, (round: number) => Promise<number | null>>,
): Promise<Samples> {
  const samples: Samples = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  const order = Object.entries(subjects);
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of round % 2 === 0 ? order : order.toReversed())
      samples[name]?.push(await measure(round));
  }
  return samples;
}

/** The median of a subject's rounds; undefined when it was never measured. */
export function medianOf(samples: Samples, subject: string): number | undefined {
  return median((samples[subject] ?? []).filter((value) => value !== null));
}

/** The median of the ratios of two subjects, each within one round; rounds without both values, or against 0, are skipped. */
export function ratioOf(samples: Samples, subject: string, other: string): number | undefined {
  const ratios = (samples[subject] ?? []).map((value, round) => {
    const against = samples[other]?.[round] ?? null;
    return value === null || against === null || against === 0 ? null : value / against;
  });
  return median(ratios.filter((value) => value !== null));
}

function median(values: number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [upper, lower] = [sorted[middle], sorted[middle - 1]];
  if (upper === undefined) return undefined;
  return sorted.length % 2 === 1 || lower === undefined ? upper : (lower + upper) / 2;
}
