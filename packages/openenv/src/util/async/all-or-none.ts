/** Resolves with all results, or with none: if one fails, it undoes the others and rejects with the failure. */
export async function allOrNone<T>(work: readonly Promise<T>[], undo: (result: T) => unknown): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  const results = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = settled.find((one) => one.status === "rejected");
  if (failed === undefined) return results;
  await Promise.allSettled(results.map(undo));
  throw failed.reason;
}
