/** Addresses of this machine that one generator connects from in turn. */
const ADDRESSES = 16;

/**
 * Gives the source address of one connection after the other. The ports of one address run out near 28,000, ended
 * connections included, so a load on this machine comes from many; elsewhere the system chooses.
 */
export function createSources(address: string, generator: number): () => string | undefined {
  if (process.platform !== "linux" || !address.startsWith("127.")) return () => undefined;
  let next = 0;
  return () => `127.0.${generator}.${(next++ % ADDRESSES) + 1}`;
}
