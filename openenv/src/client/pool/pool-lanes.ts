import { ConnectionError } from "../../errors.js";
import { MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import type { JsonObject } from "../../protocol/messages.js";
import { withLimits } from "../limits.js";
import { limitsLeft } from "../loss.js";
import {
  asFailure,
  failAll,
  isFailure,
  type LaneAnswers,
  type LaneFailure,
  type LaneMethod,
  type Lanes,
  type OpenedLanes,
} from "../many/lanes.js";
import { openLanes } from "../many/open-lanes.js";
import type { CallOptions } from "../options.js";
import { createGate } from "./gate.js";
import { explainLosses, isServerFailure, type PoolServer } from "./pool-server.js";

/** Sessions over several servers. One that is lost gets a new place with its next reset. */
export interface PoolLanes extends Lanes {
  /** True once after a reset that had to open another session than the one before. */
  takeReopened(index: number): boolean;
  /** URL of the server that has the session; undefined without one. */
  placeOf(index: number): string | undefined;
}

/** Sessions that were opened together at one server. */
interface Group {
  server: PoolServer;
  lanes: OpenedLanes;
  /** How many of them have no other place yet. */
  left: number;
}

interface Slot {
  group: Group | undefined;
  /** Where it has its session, or where one was last asked for. */
  server: PoolServer | undefined;
  /** Its index in the group. */
  at: number;
  /** No reset of the session it has now was answered yet. */
  isNew: boolean;
  /** An episode of it has begun before. */
  wasOpen: boolean;
  reopened: boolean;
}

export interface PoolLanesOptions {
  size: number;
  servers: readonly PoolServer[];
  /** At most so many sessions are asked at the same time. */
  concurrency: number;
  /** A socket for each session, so that none waits for another. */
  ownSockets: boolean;
}

export function createPoolLanes({ size, servers, concurrency, ownSockets }: PoolLanesOptions): PoolLanes {
  const slots = Array.from(
    { length: size },
    (): Slot => ({ group: undefined, server: undefined, at: 0, isNew: false, wasOpen: false, reopened: false }),
  );
  const groups = new Set<Group>();
  const gate = createGate(concurrency);
  const groupSize = ownSockets ? 1 : Math.min(MAX_BATCH_ITEMS, concurrency);
  const closing = new AbortController();
  const openings = new Set<Promise<unknown>>();
  const isExplained = servers.some(({ explainLoss }) => explainLoss !== undefined);

  const isLost = (index: number): boolean => {
    const { group, at } = slots[index] as Slot;
    return group?.lanes.isLost(at) ?? true;
  };

  const leave = (index: number): void => {
    const slot = slots[index] as Slot;
    const { group } = slot;
    if (!group) return;
    slot.group = undefined;
    group.server.load--;
    if (--group.left > 0) return;
    groups.delete(group);
    void group.lanes.close();
  };

  /** Opens a group for these sessions; returns why some have none. */
  const openGroup = async (
    server: PoolServer,
    members: readonly number[],
    options: CallOptions,
  ): Promise<Map<number, LaneFailure>> => {
    server.load += members.length;
    for (const index of members) (slots[index] as Slot).server = server;
    const signal = AbortSignal.any(options.signal ? [options.signal, closing.signal] : [closing.signal]);
    try {
      const lanes = await gate.pass(members.length, signal, async () => {
        const prepared = await withLimits(server.prepare(closing.signal), { signal }, () => {});
        return openLanes(prepared, members.length, { ...options, signal });
      });
      const group = { server, lanes, left: members.length };
      groups.add(group);
      const refusals = new Map<number, LaneFailure>();
      for (const [at, index] of members.entries()) {
        Object.assign(slots[index] as Slot, { group, at, isNew: true });
        const refusal = lanes.refusalOf(at);
        if (refusal) refusals.set(index, refusal);
      }
      for (const index of refusals.keys()) leave(index);
      return refusals;
    } catch (error) {
      server.load -= members.length;
      return failAll(members, asFailure(error));
    }
  };

  /** One call of the sessions that are asked, those of a group together. */
  const ask = async (
    method: LaneMethod,
    data: ReadonlyMap<number, JsonObject>,
    options: CallOptions,
  ): Promise<LaneAnswers> => {
    const answers: LaneAnswers = new Map();
    const asked = new Map<Group, number[]>();
    for (const index of data.keys()) {
      const { group } = slots[index] as Slot;
      if (group) addTo(asked, group, index);
      else answers.set(index, noSession());
    }
    const calls = [...asked].map(async ([group, own]) => {
      const places = own.map((index) => (slots[index] as Slot).at);
      const part = new Map(own.map((index, nth) => [places[nth] as number, data.get(index) as JsonObject]));
      try {
        const got = await gate.pass(own.length, options.signal, () => group.lanes.call(method, part, options));
        for (const [nth, index] of own.entries()) answers.set(index, got.get(places[nth] as number) ?? noSession());
      } catch (error) {
        for (const index of own) answers.set(index, asFailure(error));
      }
    });
    await Promise.all(calls);
    return answers;
  };

  /** Gives each a place at the server with the fewest that it has not tried yet; returns why some have none. */
  const place = async (
    indexes: readonly number[],
    tried: ReadonlyMap<number, Set<PoolServer>>,
    options: CallOptions,
  ): Promise<Map<number, LaneFailure>> => {
    if (indexes.length === 0) return new Map();
    const loads = new Map(servers.map((server) => [server, server.load]));
    const chosen = new Map<PoolServer, number[]>();
    for (const index of indexes) {
      const left = servers.filter((server) => !tried.get(index)?.has(server));
      const best = left.reduce((a, b) => ((loads.get(b) ?? 0) < (loads.get(a) ?? 0) ? b : a), left[0] as PoolServer);
      loads.set(best, (loads.get(best) ?? 0) + 1);
      tried.get(index)?.add(best);
      addTo(chosen, best, index);
    }
    const begun = [...chosen].flatMap(([server, all]) =>
      chunk(all, groupSize).map((members) => {
        const opening = openGroup(server, members, options);
        openings.add(opening);
        return opening.finally(() => openings.delete(opening));
      }),
    );
    return new Map((await Promise.all(begun)).flatMap((refusals) => [...refusals]));
  };

  const reset = async (data: ReadonlyMap<number, JsonObject>, options: CallOptions): Promise<LaneAnswers> => {
    const answers: LaneAnswers = new Map();
    let open = [...data.keys()];
    const tried = new Map(open.map((index) => [index, new Set<PoolServer>()]));
    while (open.length > 0) {
      const homeless = open.filter(isLost);
      for (const index of homeless) leave(index);
      const refusals = await place(homeless, tried, options);
      const placed = open.filter((index) => !refusals.has(index));
      const got = await ask("reset", new Map(placed.map((index) => [index, data.get(index) as JsonObject])), options);
      const again: number[] = [];
      for (const [index, answer] of [...refusals, ...got]) {
        answers.set(index, answer);
        const slot = slots[index] as Slot;
        if (!isFailure(answer)) {
          if (slot.isNew) Object.assign(slot, { isNew: false, reopened: slot.wasOpen, wasOpen: true });
          continue;
        }
        if (!(refusals.has(index) ? isServerFailure(answer) : isElsewhere(answer))) continue;
        leave(index);
        // The server that has lost it may have come back: only a new session that fails there rules it out.
        if ((tried.get(index)?.size ?? 0) < servers.length) again.push(index);
      }
      open = again;
    }
    return answers;
  };

  return {
    extensionsOf: (index) => {
      const { group, at } = slots[index] as Slot;
      return group?.lanes.extensionsOf(at) ?? [];
    },
    call: async (method, data, options) => {
      if (closing.signal.aborted) return failAll(data.keys(), poolClosed());
      const begunAt = Date.now();
      const answers = await (method === "reset" ? reset(data, options) : ask(method, data, options));
      if (isExplained) await explainLosses(answers, (index) => slots[index]?.server, limitsLeft(options, begunAt));
      if (!closing.signal.aborted) return answers;
      // That is the reason then for whatever the call met.
      for (const [index, answer] of answers) {
        if (answer instanceof ConnectionError) answers.set(index, poolClosed(answer));
      }
      return answers;
    },
    takeReopened: (index) => {
      const slot = slots[index] as Slot;
      const { reopened } = slot;
      slot.reopened = false;
      return reopened;
    },
    placeOf: (index) => (isLost(index) ? undefined : slots[index]?.group?.server.url),
    close: async () => {
      closing.abort();
      // What was opened in that moment is among the groups then.
      await Promise.allSettled(openings);
      await Promise.all([...groups].map(({ lanes }) => lanes.close()));
    },
  };
}

/** Whether another server may have what was lost here. */
function isElsewhere(answer: LaneFailure): boolean {
  return ["CAPACITY_REACHED", "CONNECTION_FAILED", "SESSION_LOST"].includes(answer.code);
}

function noSession(): ConnectionError {
  return new ConnectionError("SESSION_LOST", "No session is open for it. Call reset to start an episode.");
}

function poolClosed(cause?: ConnectionError): ConnectionError {
  return new ConnectionError("CLIENT_CLOSED", "The pool was closed; open a new one with connectPool().", { cause });
}

function addTo<K>(lists: Map<K, number[]>, key: K, index: number): void {
  const list = lists.get(key);
  if (list) list.push(index);
  else lists.set(key, [index]);
}

function chunk<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, nth) => all.slice(nth * size, (nth + 1) * size));
}
