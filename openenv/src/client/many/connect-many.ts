import { MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import type { Link } from "../../protocol/link.js";
import type { ClientContract, GenericContract } from "../contract.js";
import { withLimits } from "../limits.js";
import type { ConnectOptions } from "../options.js";
import { type Prepared, prepare } from "../prepare.js";
import { createBatchLanes, openedSession, readItems } from "./batch-lanes.js";
import { joinLanes, type LaneGroup } from "./joined-lanes.js";
import type { Lanes } from "./lanes.js";
import { createManyClient, type ManyClient } from "./many-client.js";
import { createSingleLanes } from "./single-lanes.js";

/** Options of `connectMany`. */
export interface ConnectManyOptions extends ConnectOptions {
  /** How many sessions. */
  size: number;
}

/**
 * Opens many sessions of a server: over one socket for up to 1,024 of them where the server can (each call is one
 * frame then), else over a socket each. A session that is refused fails alone; the next reset asks for it again.
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
  const prepared = await prepare(url, contract, options);
  const { base, shape, timeoutMs } = prepared;
  return createManyClient({ url: base, size, lanes: await openLanes(prepared, size, signal), shape, timeoutMs });
}

/**
 * A socket for what one frame holds; another one as long as each gets some sessions, because behind one address can be
 * many servers, and one that is full says nothing of the others.
 */
async function openLanes(prepared: Prepared, size: number, signal: AbortSignal | undefined): Promise<Lanes> {
  const groups: LaneGroup[] = [];
  const open = (callSignal: AbortSignal | undefined) => prepared.open(callSignal, ["batch"]);
  let link: Link | undefined;
  try {
    for (let left = size; left > 0; ) {
      const count = Math.min(left, MAX_BATCH_ITEMS);
      link = await open(signal);
      // A server that does not know the frame answers an error and goes on with the socket's own session.
      const asked = link.request({ type: "open_many", data: { count } });
      const answer = await withLimits(asked, { timeoutMs: prepared.timeoutMs, signal }, () => {});
      const extensions = answer.openenv?.extensions ?? [];
      if (!extensions.includes("batch")) {
        await joinLanes(groups).close();
        return await createSingleLanes((callSignal) => prepared.open(callSignal), size, link);
      }
      const replies = readItems(answer, count);
      const given = replies.filter((reply) => openedSession(reply) !== undefined);
      const opened = given.length > 0 ? given : replies;
      const lanes = createBatchLanes({ size: opened.length, open, link, opened, extensions });
      groups.push({ lanes, size: opened.length });
      left -= opened.length;
    }
  } catch (error) {
    await Promise.all([link?.close(), joinLanes(groups).close()]);
    throw error;
  }
  return joinLanes(groups);
}
