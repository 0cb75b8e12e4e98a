import { MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import type { ClientContract, GenericContract } from "../contract.js";
import { withLimits } from "../limits.js";
import type { ConnectOptions } from "../options.js";
import { prepare } from "../prepare.js";
import { createBatchLanes } from "./batch-lanes.js";
import { createManyClient, type ManyClient } from "./many-client.js";
import { createSingleLanes } from "./single-lanes.js";

/** Options of `connectMany`. */
export interface ConnectManyOptions extends ConnectOptions {
  /** How many sessions. */
  size: number;
}

/**
 * Opens many sessions of a server: over one socket where the server can (each call is one frame for up to 1,024 of them),
 * else over a socket each. A session that is refused fails alone; the next reset asks for it again.
 * @throws ConnectionError CONNECTION_FAILED when no connection is to be had, ContractMismatchError when the server's
 * schema breaks the contract.
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
  if (!Number.isSafeInteger(size) || size < 1)
    throw new TypeError(`size must be a whole number from 1 on, not ${size}.`);
  const { base, open, shape, timeoutMs } = await prepare(url, contract, options);
  const openBatch = (callSignal: AbortSignal | undefined) => open(callSignal, ["batch"]);
  const link = await openBatch(signal);
  // A server that does not know the frame answers an error and goes on with the socket's own session.
  const probe = link.request({ type: "open_many", data: { count: Math.min(size, MAX_BATCH_ITEMS) } });
  const opened = await withLimits(probe, { timeoutMs, signal }, () => void link.close());
  const confirmed = opened.openenv?.extensions?.includes("batch") === true;
  const lanes = confirmed
    ? createBatchLanes({ size, open: openBatch, link, opened })
    : await createSingleLanes((callSignal) => open(callSignal), size, link);
  return createManyClient({ url: base, size, lanes, shape, timeoutMs });
}
