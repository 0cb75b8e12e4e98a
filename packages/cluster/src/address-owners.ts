import type { ClusterPeer, WorkerRequest } from "./messages.js";
import { hasRoom } from "./placement.js";
import type { WorkerProcess } from "./worker-process.js";

/** Addresses that are remembered. Beyond it, the workers are asked for those that were used least recently. */
const MAX_ADDRESSES = 100_000;

type OwnerQuery = Extract<WorkerRequest, { what: "owner" }>;

/** Which worker has the session of each address: the one that opens it. */
export class AddressOwners {
  readonly #workers: ReadonlyMap<number, WorkerProcess>;
  readonly #leastLoaded: () => ClusterPeer | undefined;
  /** The address that was used least recently comes first. */
  readonly #owners = new Map<string, Promise<number | undefined>>();
  #hasForgotten = false;

  constructor(workers: ReadonlyMap<number, WorkerProcess>, leastLoaded: () => ClusterPeer | undefined) {
    this.#workers = workers;
    this.#leastLoaded = leastLoaded;
  }

  /** The worker of an address; a new one is opened by the worker that asks, or by the worker with the least load. */
  find(query: OwnerQuery): Promise<number | undefined> {
    const { address } = query;
    const before = this.#owners.get(address);
    const owner = before === undefined ? this.#place(query) : this.#check(query, before);
    this.#owners.delete(address);
    this.#owners.set(address, owner);
    const [first] = this.#owners.keys();
    if (this.#owners.size > MAX_ADDRESSES && first !== undefined) {
      this.#owners.delete(first);
      this.#hasForgotten = true;
    }
    return owner;
  }

  async #check(query: OwnerQuery, before: Promise<number | undefined>): Promise<number | undefined> {
    const { address, asking, opens } = query;
    const number = await before;
    const worker = number === undefined ? undefined : this.#workers.get(number);
    if (worker?.state === "ready" && !worker.retiring) {
      // It was to open the session, and has become full before.
      const roomier = number === asking && !opens ? this.#leastLoaded() : undefined;
      return roomier !== undefined && hasRoom(roomier.load) ? roomier.number : number;
    }
    // A worker that retires opens no session, and keeps those that it has.
    if (worker?.state === "ready" && (await worker.request({ what: "has", address })) === true) return number;
    const next = await this.#place(query);
    // A worker that hangs will be killed.
    const isLost = number !== undefined && worker?.state !== "ready";
    if (isLost && next !== undefined) await this.#workers.get(next)?.request({ what: "lost", address });
    return next;
  }

  async #place({ address, asking, opens }: OwnerQuery): Promise<number | undefined> {
    const ready = [...this.#workers.values()].filter(({ state }) => state === "ready");
    const answers = this.#hasForgotten ? ready.map((worker) => worker.request({ what: "has", address })) : [];
    const index = (await Promise.all(answers)).indexOf(true);
    return ready[index]?.number ?? (opens ? asking : this.#leastLoaded()?.number);
  }
}
