import { ConnectionError, RemoteError } from "../../errors.js";
import { MAX_BATCH_ITEMS } from "../../protocol/batch.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { LaneAnswer, LaneMethod, Lanes } from "../many/lanes.js";
import { openLanes } from "../many/open-lanes.js";
import type { CallOptions } from "../options.js";
import { createGate } from "./gate.js";
import type { PoolServer } from "./pool-server.js";

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
  lanes: Lanes;
  /** The session of the pool at each index of `lanes`; undefined once it has another place. */
  members: (number | undefined)[];
}

interface Slot {
  group: Group | undefined;
  /** Its index in the group. */
  at: number;
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
    (): Slot => ({
      group: undefined,
      at: 0,
      wasOpen: false,
      reopened: false,
    }),
  );
  const groups = new Set<Group>();
  const gate = createGate(concurrency);
  const groupSize = ownSockets ? 1 : Math.min(MAX_BATCH_ITEMS, concurrency);
  let closed = false;

  const leave = (index: number): void => {
    const slot = slots[index] as Slot;
    const { group, at } = slot;
    if (!group) return;
    slot.group = undefined;
    group.members[at] = undefined;
    group.server.load--;
    if (group.members.some((member) => member !== undefined)) return;
    groups.delete(group);
    void group.lanes.close();
  };

  /** Opens a group for these sessions; returns why it could not. */
  const openGroup = async (
    server: PoolServer,
    members: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Failure | undefined> => {
    server.load += members.length;
    try {
      const lanes = await gate.pass(members.length, signal, async () => {
        const prepared = await server.prepare(signal);
        return openLanes(prepared, members.length, signal);
      });
      const group = { server, lanes, members: [...members] };
      if (closed) {
        await lanes.close();
        throw poolClosed();
      }
      groups.add(group);
      for (const [at, index] of members.entries()) Object.assign(slots[index] as Slot, { group, at });
      return undefined;
    } catch (error) {
      server.load -= members.length;
      return asFailure(error);
    }
  };

  /** One call of the sessions that are asked, those of a group together. */
  const ask = async (
    method: LaneMethod,
    indexes: readonly number[],
    { data, options }: { data: readonly (JsonObject | null)[]; options: CallOptions },
  ): Promise<Map<number, LaneAnswer>> => {
    const answers = new Map<number, LaneAnswer>();
    const asked = new Map<Group, number[]>();
    for (const index of indexes) {
      const { group } = slots[index] as Slot;
      if (group) asked.set(group, [...(asked.get(group) ?? []), index]);
      else answers.set(index, noSession());
    }
    const calls = [...asked].map(async ([group, own]) => {
      const part: (JsonObject | null)[] = group.members.map(() => null);
      for (const index of own) part[(slots[index] as Slot).at] = data[index] ?? null;
      const places = own.map((index) => (slots[index] as Slot).at);
      try {
        const got = await gate.pass(own.length, options.signal, () => group.lanes.call(method, part, options));
        for (const [nth, index] of own.entries()) answers.set(index, got[places[nth] as number] ?? null);
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
    signal: AbortSignal | undefined,
  ): Promise<Map<number, Failure>> => {
    const loads = new Map(servers.map((server) => [server, server.load]));
    const chosen = new Map<PoolServer, number[]>();
    for (const index of indexes) {
      const left = servers.filter((server) => !tried.get(index)?.has(server));
      const best = left.reduce((a, b) => ((loads.get(b) ?? 0) < (loads.get(a) ?? 0) ? b : a), left[0] as PoolServer);
      loads.set(best, (loads.get(best) ?? 0) + 1);
      tried.get(index)?.add(best);
      chosen.set(best, [...(chosen.get(best) ?? []), index]);
    }
    const failures = new Map<number, Failure>();
    const openings = [...chosen].flatMap(([server, all]) =>
      chunk(all, groupSize).map(async (members) => {
        const failure = await openGroup(server, members, signal);
        if (failure) for (const index of members) failures.set(index, failure);
      }),
    );
    await Promise.all(openings);
    return failures;
  };

  const reset = async (data: readonly (JsonObject | null)[], options: CallOptions): Promise<LaneAnswer[]> => {
    const answers: LaneAnswer[] = data.map(() => null);
    let open = data.flatMap((own, index) => (own === null ? [] : [index]));
    const tried = new Map(open.map((index) => [index, new Set<PoolServer>()]));
    while (open.length > 0) {
      const homeless: number[] = [];
      for (const index of open) {
        const { group, at } = slots[index] as Slot;
        if (group && !group.lanes.isLost(at)) continue;
        leave(index);
        homeless.push(index);
      }
      const failures = await place(homeless, tried, options.signal);
      const placed = open.filter((index) => !failures.has(index));
      const got = await ask("reset", placed, { data, options });
      const fresh = new Set(homeless);
      const again: number[] = [];
      for (const index of open) {
        const answer = failures.get(index) ?? got.get(index) ?? null;
        answers[index] = answer;
        const slot = slots[index] as Slot;
        if (answer !== null && !isFailure(answer)) {
          if (fresh.has(index)) {
            slot.reopened = slot.wasOpen;
            slot.wasOpen = true;
          }
          continue;
        }
        if (!isElsewhere(answer)) continue;
        leave(index);
        // The server that has lost it may have come back: only a new session that fails there rules it out.
        if ((tried.get(index)?.size ?? 0) < servers.length) again.push(index);
      }
      open = closed ? [] : again;
    }
    return answers;
  };

  return {
    get extensions() {
      return [...new Set([...groups].flatMap(({ lanes }) => lanes.extensions))];
    },
    call: async (method, data, options) => {
      if (closed) return data.map((own) => (own === null ? null : poolClosed()));
      if (method === "reset") return reset(data, options);
      const indexes = data.flatMap((own, index) => (own === null ? [] : [index]));
      const got = await ask(method, indexes, { data, options });
      return data.map((_, index) => got.get(index) ?? null);
    },
    isLost: (index) => {
      const { group, at } = slots[index] as Slot;
      return group?.lanes.isLost(at) ?? true;
    },
    takeReopened: (index) => {
      const slot = slots[index] as Slot;
      const { reopened } = slot;
      slot.reopened = false;
      return reopened;
    },
    placeOf: (index) => slots[index]?.group?.server.url,
    close: async () => {
      closed = true;
      await Promise.all([...groups].map(({ lanes }) => lanes.close()));
      groups.clear();
    },
  };
}

type Failure = RemoteError | ConnectionError;

/** Whether another server may have what this one refused. */
function isElsewhere(answer: LaneAnswer): boolean {
  if (answer instanceof RemoteError) return answer.wireCode === "CAPACITY_REACHED";
  return answer instanceof ConnectionError && ["CONNECTION_FAILED", "SESSION_LOST"].includes(answer.code);
}

function isFailure(answer: LaneAnswer): answer is Failure {
  return answer instanceof RemoteError || answer instanceof ConnectionError;
}

function asFailure(error: unknown): Failure {
  if (error instanceof RemoteError || error instanceof ConnectionError) return error;
  throw error;
}

function noSession(): ConnectionError {
  return new ConnectionError("SESSION_LOST", "No session is open for it. Call reset to start an episode.");
}

function poolClosed(): ConnectionError {
  return new ConnectionError("CLIENT_CLOSED", "The pool was closed; open a new one with connectPool().");
}

function chunk<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, nth) => all.slice(nth * size, (nth + 1) * size));
}
