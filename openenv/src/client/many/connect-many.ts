import { checkCount } from "../check-count.js";
import type { ClientContract, GenericContract } from "../contract.js";
import type { ConnectOptions } from "../options.js";
import { prepare } from "../prepare.js";
import { createManyClient, type ManyClient } from "./many-client.js";
import { openLanes } from "./open-lanes.js";

/** Options of `connectMany`. */
export interface ConnectManyOptions extends ConnectOptions {
  /** How many sessions. */
  size: number;
}

/**
 * Opens many sessions of a server: over one socket for up to 1,024 of them where the server can (each call is one
 * frame then), else over a socket each. A session that is refused fails alone; the next reset asks for it again.
 * @throws ConnectionError CONNECTION_FAILED when no connection is to be had, ContractMismatchError when the server's
 * schema breaks the contract, ConfigError when `size` is no whole number from 1 on.
 * @example
 * await using envs = await connectMany("http://localhost:8000", counter, { size: 64 });
 * let results = await envs.reset({ seed: 7 });
 * results = await envs.step(results.map((result) => (result?.done ? null : { amount: 1 })));
 */
export function connectMany<C extends ClientContract>(
  url: string | URL,
  contract: C,
  options: ConnectManyOptions,
): Promise<ManyClient<C>>;
export function connectMany(url: string | URL, options: ConnectManyOptions): Promise<ManyClient<GenericContract>>;
export async function connectMany(
  url: string | URL,
  second: ClientContract | ConnectManyOptions,
  third?: ConnectManyOptions,
): Promise<ManyClient> {
  const [contract, options] =
    third === undefined ? [undefined, second as ConnectManyOptions] : [second as ClientContract, third];
  const { size, signal } = options;
  checkCount("size", size);
  const prepared = await prepare(url, contract, options);
  const { base, shape, timeoutMs } = prepared;
  const lanes = await openLanes(prepared, size, { timeoutMs, signal });
  return createManyClient({ url: base, size, lanes, shape, timeoutMs });
}
