import { MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import { groupBy } from "../../util/group-by.js";
import { abortedBeforeSent, asFailure, type CallFailure, isFailure } from "../failures.js";
import type { CallOptions } from "../options.js";
import { withLimits } from "../transport/limits.js";
import type { Limiter } from "./limiter.js";
import type { ServerTarget } from "./server-target.js";
import { groupOf, type OpenState, type Slot, type SlotState, targetOf } from "./slot.js";
import { SocketGroup } from "./socket-group.js";

/** Opens sessions on the sockets of several servers, and closes sockets without sessions. */
export class Placement {
  readonly targets: readonly ServerTarget[];
  readonly #limiter: Limiter;
  readonly #sessionsPerSocket: number;
  readonly #groups = new Set<SocketGroup>();
  readonly #closing = new AbortController();

  /** `limiter` bounds how many sessions are opened at the same time. */
  constructor(targets: readonly ServerTarget[], limiter: Limiter, sessionsPerSocket: number) {
    this.targets = targets;
    this.#limiter = limiter;
    this.#sessionsPerSocket = Math.min(sessionsPerSocket, MAX_BATCH_ITEMS);
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /**
   * Opens a session for each slot, on the server with the fewest sessions among those that the slot has not tried. The
   * state of a slot whose session is rejected has the reason.
   */
  async open(
    slots: readonly Slot[],
    tried: ReadonlyMap<Slot, Set<ServerTarget>>,
    { timeoutMs, signal: given }: CallOptions,
  ): Promise<void> {
    const closing = this.#closing.signal;
    const signal = AbortSignal.any(given ? [given, closing] : [closing]);
    for (const slot of slots) this.#move(slot, { kind: "unopened" });
    const choose = (slot: Slot): ServerTarget => {
      const left = this.targets.filter((target) => !tried.get(slot)?.has(target));
      const target = left.reduce((best, other) => (other.load < best.load ? other : best));
      tried.get(slot)?.add(target);
      return target;
    };
    await this.#seat(slots, choose, { timeoutMs, signal });
    // An aborted call releases all sessions that it was opening.
    if (signal.aborted) for (const slot of slots) this.release(slot, abortedBeforeSent(signal));
  }

  /** Removes a session that was rejected or lost from its socket. */
  release(slot: Slot, error: CallFailure): void {
    this.#move(slot, { kind: "closed", error, target: targetOf(slot) });
  }

  /** Puts a copy of an open session in the slot. */
  place(slot: Slot, parent: Slot, session: number): void {
    const { kind, group } = parent.state as OpenState;
    slot.hasPlayed = parent.hasPlayed;
    slot.groupId = parent.groupId;
    this.#move(slot, { kind, group, session });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(Array.from(this.#groups, (group) => group.close()));
  }

  /** Puts sessions on new sockets, or on those that have room. */
  async #seat(slots: readonly Slot[], choose: (slot: Slot) => ServerTarget, limits: CallOptions, canJoin = true) {
    const filling = new Map<ServerTarget, SocketGroup>();
    const groupFor = (slot: Slot): SocketGroup => {
      const target = choose(slot);
      const most = target.hasBatch ? this.#sessionsPerSocket : 1;
      let group = filling.get(target);
      if (!group || group.isFull) {
        const groups = canJoin && most > 1 ? [...this.#groups] : [];
        group = groups.find((one) => one.target === target && one.hasRoom) ?? new SocketGroup(target, most);
      }
      filling.set(target, group);
      this.#move(slot, { kind: "opening", group });
      return group;
    };
    await Promise.all(Array.from(groupBy(slots, groupFor), ([group, own]) => this.#open(group, own, limits)));
  }

  async #open(group: SocketGroup, slots: readonly Slot[], { timeoutMs, signal: given }: CallOptions): Promise<void> {
    const { target } = group;
    const isNew = !group.up;
    // Node warns about more than ten listeners on one signal.
    const signal = given && AbortSignal.any([given]);
    try {
      const replies = await this.#limiter.run(slots.length, signal, async () => {
        const prepared = await withLimits(target.prepare(this.#closing.signal), { signal }, () => {});
        return group.open(slots.length, prepared, { timeoutMs, signal });
      });
      const left = slots.filter((slot, nth) => {
        const reply = replies[nth];
        if (typeof reply === "number") this.#move(slot, { kind: "opened", group, session: reply });
        else if (reply) this.release(slot, reply);
        return reply === undefined || (isFailure(reply) && reply.code === "CAPACITY_REACHED");
      });
      // One address can lead to many servers: another socket may reach one with room, unless a new one opened none.
      const isUseful = !isNew || replies.length < slots.length || replies.some((reply) => typeof reply === "number");
      if (isUseful) await this.#seat(left, () => target, { timeoutMs, signal }, false);
    } catch (error) {
      const failure = asFailure(error);
      for (const slot of slots) if (slot.state.kind === "opening") this.release(slot, failure);
    }
  }

  /** The only place where a session changes sockets: the last one to leave a socket closes it. */
  #move(slot: Slot, state: SlotState): void {
    const [before, after] = [groupOf(slot.state), groupOf(state)];
    slot.state = state;
    if (before === after) return;
    if (after) {
      after.size++;
      after.target.load++;
      this.#groups.add(after);
    }
    if (!before) return;
    before.size--;
    before.target.load--;
    if (before.size > 0) return;
    this.#groups.delete(before);
    void before.close();
  }
}
