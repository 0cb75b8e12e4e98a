import { MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import { groupBy } from "../../util/group-by.js";
import { abortedBeforeSent, asFailure, type CallFailure, isFailure } from "../failures.js";
import type { CallOptions } from "../options.js";
import type { Prepared } from "../prepare.js";
import { withLimits } from "../transport/limits.js";
import type { Limiter } from "./limiter.js";
import { LOOK_MS, LOOKS, ServerLoads } from "./server-loads.js";
import type { ServerTarget } from "./server-target.js";
import { groupOf, type OpenState, type Slot, type SlotState, targetOf } from "./slot.js";
import { SocketGroup } from "./socket-group.js";

function isFull(reply: unknown): boolean {
  return isFailure(reply) && reply.code === "CAPACITY_REACHED";
}

/** Opens sessions on the sockets of several servers, moves them, and closes sockets without sessions. */
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
  async open(slots: readonly Slot[], tried: ReadonlyMap<Slot, Set<ServerTarget>>, given: CallOptions): Promise<void> {
    const limits = this.#untilClosed(given);
    for (const slot of slots) this.#move(slot, { kind: "unopened" });
    const choose = (slot: Slot): ServerTarget => {
      const left = this.targets.filter((target) => !tried.get(slot)?.has(target));
      const target = left.reduce((best, other) => (other.load < best.load ? other : best));
      tried.get(slot)?.add(target);
      return target;
    };
    await this.#seat(slots, choose, limits);
    const { signal } = limits;
    // An aborted call releases all sessions that it was opening.
    if (signal?.aborted) for (const slot of slots) this.release(slot, abortedBeforeSent(signal));
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
    const loads = new Map<ServerTarget, ServerLoads>();
    const groupFor = (slot: Slot): SocketGroup => {
      const target = choose(slot);
      const most = this.#mostOf(target);
      if (!loads.has(target)) loads.set(target, new ServerLoads(canJoin && most > 1 ? this.#groups : [], target));
      const group = loads.get(target)?.roomiest() ?? this.#filled(filling, target, most);
      loads.get(target)?.add(group, 1);
      this.#move(slot, { kind: "opening", group });
      return group;
    };
    await Promise.all(Array.from(groupBy(slots, groupFor), ([group, own]) => this.#fill(group, own, limits)));
  }

  #mostOf(target: ServerTarget): number {
    return target.hasBatch ? this.#sessionsPerSocket : 1;
  }

  #filled(filling: Map<ServerTarget, SocketGroup>, target: ServerTarget, most: number): SocketGroup {
    let group = filling.get(target);
    if (!group || group.isFull) group = new SocketGroup(target, most);
    filling.set(target, group);
    return group;
  }

  /** Opens sessions on a socket; those of a new one are divided among all servers that its address leads to. */
  async #fill(first: SocketGroup, slots: readonly Slot[], given: CallOptions): Promise<void> {
    const { target } = first;
    const isNew = !first.up;
    // Node warns about more than ten listeners on one signal.
    const limits = { ...given, signal: given.signal && AbortSignal.any([given.signal]) };
    try {
      if (!isNew || slots.length === 1 || this.#mostOf(target) === 1 || !this.#isDue(target)) {
        return await this.#open(first, slots, limits, isNew);
      }
      target.lookedAt = performance.now();
      const [lead, ...rest] = slots as [Slot, ...Slot[]];
      await this.#open(first, [lead], limits, isNew);
      if (first.server !== undefined) await this.#look(target, rest.length, limits);
      if (!(lead.state.kind === "closed" && isFull(lead.state.error)))
        return await this.#seat(rest, () => target, limits);
      // The first server is full, and all others may be behind the same address.
      if (new ServerLoads(this.#groups, target).roomiest() !== undefined)
        return await this.#seat(slots, () => target, limits);
      for (const slot of rest) this.release(slot, lead.state.error);
    } catch (error) {
      const failure = asFailure(error);
      for (const slot of slots) if (slot.state.kind === "opening") this.release(slot, failure);
    }
  }

  async #open(group: SocketGroup, slots: readonly Slot[], limits: CallOptions, isNew: boolean): Promise<void> {
    const { target } = group;
    const replies = await this.#openOn(group, slots.length, limits);
    const left = slots.filter((slot, nth) => {
      const reply = replies[nth];
      if (typeof reply === "number") this.#move(slot, { kind: "opened", group, session: reply });
      else if (reply) this.release(slot, reply);
      return reply === undefined || isFull(reply);
    });
    if (replies.some(isFull)) group.avoidedUntil = performance.now() + LOOK_MS;
    if (left.length === 0) return;
    // One address can lead to many servers: another socket may reach one with room, unless a new one opened none.
    const isUseful = !isNew || replies.length < slots.length || replies.some((reply) => typeof reply === "number");
    const canJoin = new ServerLoads(this.#groups, target).roomiest() !== undefined;
    if (isUseful || canJoin) await this.#seat(left, () => target, limits, canJoin);
  }

  /**
   * Moves sessions whose next episode begins from servers with more than their share to those with less, such as servers
   * that were added behind an address.
   */
  async even(slots: readonly Slot[], limits: CallOptions): Promise<void> {
    const byTarget = groupBy(slots, (slot) => (slot.state as OpenState).group.target);
    const moves = Array.from(byTarget, async ([target, own]) => {
      if (this.#mostOf(target) === 1 || target.load < 2) return;
      const loads = new ServerLoads(this.#groups, target);
      const { share } = loads;
      // The servers that this finds get sessions at the next reset.
      if (this.#isDue(target)) void this.#look(target, LOOKS, { timeoutMs: limits.timeoutMs, signal: undefined });
      const crowded = own.filter((slot) => {
        const { group } = slot.state as OpenState;
        if (loads.of(group) <= share || loads.roomiest(share) === undefined) return false;
        loads.add(group, -1);
        return true;
      });
      await this.#transfer(crowded, target, share, limits);
      if (!loads.hasAbove(share)) this.#drop([...this.#groups].filter((group) => group.target === target));
    });
    await Promise.all(moves);
  }

  /** Moves sessions whose servers are paused or stop to other servers. Those that no server has room for stay. */
  async leave(slots: readonly Slot[], limits: CallOptions): Promise<void> {
    const byGroup = groupBy(slots, (slot) => (slot.state as OpenState).group);
    const now = performance.now();
    const left = new Set(Array.from(byGroup.keys(), (group) => group.server ?? group));
    for (const group of this.#groups) if (left.has(group.server ?? group)) group.avoidedUntil = now + LOOK_MS;
    const moveTo = async (target: ServerTarget, leaving: readonly Slot[]): Promise<Slot[]> => {
      const isKnown = new ServerLoads(this.#groups, target).roomiest() !== undefined;
      if (!isKnown) await this.#look(target, leaving.length, limits, true);
      const staying = await this.#transfer(leaving, target, Number.POSITIVE_INFINITY, limits);
      this.#drop([...this.#groups].filter((group) => group.target === target));
      return staying;
    };
    const byTarget = groupBy(slots, (slot) => (slot.state as OpenState).group.target);
    const moves = Array.from(byTarget, async ([own, leaving]) => {
      let staying = await moveTo(own, leaving);
      let others = this.targets.filter((target) => target !== own);
      while (staying.length > 0 && others.length > 0 && !limits.signal?.aborted) {
        const loads = new Map(others.map((target) => [target, target.load]));
        const shares = groupBy(staying, () => {
          const [target] = [...loads].reduce((best, other) => (other[1] < best[1] ? other : best));
          loads.set(target, (loads.get(target) ?? 0) + 1);
          return target;
        });
        const left = await Promise.all(Array.from(shares, ([target, own]) => moveTo(target, own)));
        const full = new Set([...shares.keys()].filter((_, nth) => left[nth]?.length));
        others = others.filter((target) => !full.has(target));
        staying = left.flat();
      }
    });
    await Promise.all(moves);
  }

  /** Moves sessions to the servers of an address that have fewer than `below`. Returns those that no server has room for. */
  async #transfer(slots: readonly Slot[], target: ServerTarget, below: number, given: CallOptions): Promise<Slot[]> {
    const limits = this.#untilClosed(given);
    const loads = new ServerLoads(this.#groups, target);
    const planned = new Map<SocketGroup, Slot[]>();
    const staying: Slot[] = [];
    for (const slot of slots) {
      const group = loads.roomiest(below, planned);
      if (group === undefined) staying.push(slot);
      else {
        planned.set(group, [...(planned.get(group) ?? []), slot]);
        loads.add(group, 1);
      }
    }
    const ended = new Map<SocketGroup, number[]>();
    const moves = Array.from(planned, async ([group, own]) => {
      const replies = await this.#openOn(group, own.length, limits).catch((error: unknown) => [asFailure(error)]);
      if (!replies.every((reply) => typeof reply === "number")) group.avoidedUntil = performance.now() + LOOK_MS;
      for (const [nth, slot] of own.entries()) {
        const reply = replies[nth];
        const { group: before, session } = slot.state as OpenState;
        if (typeof reply !== "number") staying.push(slot);
        else {
          ended.set(before, [...(ended.get(before) ?? []), session]);
          this.#move(slot, { kind: "opened", group, session: reply, isMoved: true });
        }
      }
    });
    await Promise.all(moves);
    // A socket without sessions is closed, and ends them by that.
    const ending = Array.from(ended, ([group, sessions]) => group.size > 0 && group.end(sessions, limits));
    await Promise.allSettled(ending);
    return staying;
  }

  /**
   * Opens sockets to find servers behind an address, and keeps one to each server that has none. Stops when it finds no
   * more, or enough for `most` sessions. Never rejects.
   */
  async #look(target: ServerTarget, most: number, given: CallOptions, isMoving = false): Promise<void> {
    target.lookedAt = performance.now();
    const limits = this.#untilClosed(given);
    const isPlain = this.#mostOf(target) === 1;
    for (let left = most, found = 1; left > 0 && found > 0; left -= found) {
      const { servers } = new ServerLoads(this.#groups, target);
      const count = Math.min(left, isPlain ? left : Math.max(LOOKS, servers));
      const looks = Array.from({ length: count }, async () => {
        const group = new SocketGroup(target, this.#mostOf(target));
        const looking = this.#prepare(target, limits.signal).then((prepared) => group.look(prepared, limits, isMoving));
        await looking.catch(() => group.close());
        return group;
      });
      found = 0;
      for (const group of await Promise.all(looks)) {
        const isNew = isPlain || (group.server !== undefined && !new ServerLoads(this.#groups, target).has(group));
        if (group.up && isNew && !this.isClosed) {
          this.#groups.add(group);
          found++;
        } else void group.close();
      }
    }
  }

  /** Closes sockets that were opened to look for servers and have no session. */
  #drop(unused: Iterable<SocketGroup>): void {
    for (const group of unused) {
      if (group.size > 0) continue;
      this.#groups.delete(group);
      void group.close();
    }
  }

  #isDue(target: ServerTarget): boolean {
    return performance.now() - target.lookedAt >= LOOK_MS;
  }

  #prepare(target: ServerTarget, signal: AbortSignal | undefined): Promise<Prepared> {
    return withLimits(target.prepare(this.#closing.signal), { signal }, () => {});
  }

  #openOn(group: SocketGroup, count: number, limits: CallOptions): Promise<(number | CallFailure)[]> {
    return this.#limiter.run(count, limits.signal, async () => {
      return group.open(count, await this.#prepare(group.target, limits.signal), limits);
    });
  }

  #untilClosed({ timeoutMs, signal }: CallOptions): CallOptions {
    const closing = this.#closing.signal;
    return { timeoutMs, signal: AbortSignal.any(signal ? [signal, closing] : [closing]) };
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
