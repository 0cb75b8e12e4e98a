import type { EpisodeRow } from "openenv-ts/protocol";

/** What an episode was played with: `lamps`, `seed 7`, `desk-1`, `policy of step 40`. */
export function factsOf(row: EpisodeRow): string[] {
  const { task, seed, run } = row;
  const facts = [task, seed === null ? null : `seed ${seed}`, run, policyInWords(row)];
  return facts.filter((fact) => fact !== null);
}

/** `policy of step 40`; null where the policy is not known. */
export function policyInWords({ policy }: { policy: number | null }): string | null {
  return policy === null ? null : `policy of step ${policy}`;
}
