import type { Link } from "../../protocol/link.js";
import type { JsonObject } from "../../protocol/messages.js";
import { createSession, type Session } from "../session.js";
import { asFailure, type LaneFailure, type OpenedLanes } from "./lanes.js";

type Open = (signal: AbortSignal | undefined) => Promise<Link>;

export interface SingleLanesOptions {
  size: number;
  /** A socket that is open already. */
  first: Link;
  signal: AbortSignal | undefined;
}

/** So many sockets are opened at a time. */
const OPENINGS = 64;

/** Many sessions, each on a socket of its own. @throws ConnectionError ABORTED, and then none is left. */
export async function createSingleLanes(open: Open, { size, first, signal }: SingleLanesOptions): Promise<OpenedLanes> {
  const sessions: Session[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(sessions.map((session) => session.close()));
  };
  let begun = 0;
  const openInTurn = async (): Promise<void> => {
    while (begun < size) sessions.push(await openLane(begun++ === 0 ? first : undefined));
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(size, OPENINGS) }, openInTurn));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) {
    await close();
    throw failed.reason;
  }

  /** The first link, or a new one; a server that refuses one socket does not cost the others. */
  function openLane(given: Link | undefined): Promise<Session> {
    let next = given?.open ? given : undefined;
    const openNext: Open = async (callSignal) => {
      const link = next ?? (await open(callSignal));
      next = undefined;
      return link;
    };
    // One of its own: Node warns of more than ten listeners on a signal.
    return createSession(openNext, signal && AbortSignal.any([signal])).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      return createSession(failFirst(openNext, error), undefined);
    });
  }

  return {
    extensionsOf: (index) => sessions[index]?.extensions ?? [],
    call: async (method, data, options) => {
      const calls = [...data].map(async ([index, own]): Promise<[number, JsonObject | LaneFailure]> => {
        const message = method === "state" ? { type: method } : { type: method, data: own };
        return [index, await (sessions[index] as Session).call(message, options).catch(asFailure)];
      });
      return new Map(await Promise.all(calls));
    },
    isLost: (index) => sessions[index]?.lost ?? true,
    refusalOf: () => undefined,
    close,
  };
}

/** A session that begins lost: its first reset opens a socket. */
function failFirst(open: Open, error: unknown): Open {
  let failed = false;
  return (signal) => {
    if (failed) return open(signal);
    failed = true;
    return Promise.resolve({ open: false, request: () => Promise.reject(error), close: () => Promise.resolve() });
  };
}
