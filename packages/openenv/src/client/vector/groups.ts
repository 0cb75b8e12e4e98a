import type { ClientContract } from "../contract/contract.js";
import type { CallOptions, ForkOptions, GroupOptions, ResetValues } from "../options.js";
import type { FailedResult, VectorResult } from "../result.js";

interface Sessions<C extends ClientContract> {
  readonly size: number;
  reset(options: readonly (ResetValues<C> | null)[], call: CallOptions): Promise<(VectorResult<C> | null)[]>;
  fork(parents: readonly number[], options: ForkOptions): Promise<(FailedResult | null)[]>;
}

/** Starts the episodes of `VectorEnv.resetGroups`, without their group ids. */
export async function startGroups<C extends ClientContract>(
  envs: Sessions<C>,
  starts: readonly ResetValues<C>[],
  { fork = false, rng = "split", ...call }: GroupOptions & CallOptions,
  end: (indices: readonly number[]) => Promise<void>,
): Promise<VectorResult<C>[]> {
  const count = envs.size / starts.length;
  if (!Number.isInteger(count)) {
    throw new TypeError(`${envs.size} sessions cannot be divided into ${starts.length} groups of the same size.`);
  }
  const firstOf = (index: number): number => index - (index % count);
  const indices = Array.from({ length: envs.size }, (_, index) => index);
  const options = indices.map((index) =>
    fork && firstOf(index) !== index ? null : (starts[Math.floor(index / count)] ?? null),
  );
  const begun = await envs.reset(options, call);
  const results = begun.map((result) => (result && "error" in result ? { ...result, done: true as const } : result));
  // Sessions whose reset failed end: otherwise they would continue their old episodes, in the new groups.
  await end(indices.filter((index) => results[index] && "error" in results[index]));
  const failures: (FailedResult | null)[] =
    fork && count > 1 ? await envs.fork(indices.map(firstOf), { rng, signal: call.signal }) : [];
  return indices.map((index) => {
    const first = results[firstOf(index)] as VectorResult<C>;
    const failure = failures[index];
    if (!failure) return results[index] ?? { ...first, index };
    return { ...failure, index, began: true, reopened: false, groupId: null, next: null };
  });
}
