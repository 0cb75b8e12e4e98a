import { ConnectionError, RemoteError } from "../../errors.js";
import type { Link } from "../../protocol/link.js";
import { createSession, type Session } from "../session.js";
import type { LaneAnswer, Lanes } from "./lanes.js";

type Open = (signal: AbortSignal | undefined) => Promise<Link>;

/** Many sessions, each on a socket of its own. `first` is a socket that is open already. */
export async function createSingleLanes(open: Open, size: number, first: Link): Promise<Lanes> {
  const sessions = await Promise.all(
    Array.from({ length: size }, (_, index) => openLane(index === 0 ? first : undefined)),
  );

  /** The first link, or a new one; a server that refuses one socket does not cost the others. */
  function openLane(given: Link | undefined): Promise<Session> {
    let next = given?.open ? given : undefined;
    const openNext: Open = async (signal) => {
      const link = next ?? (await open(signal));
      next = undefined;
      return link;
    };
    return createSession(openNext, undefined).catch((error: unknown) =>
      createSession(failFirst(openNext, error), undefined),
    );
  }

  return {
    get extensions() {
      return sessions.find(({ extensions }) => extensions.length > 0)?.extensions ?? [];
    },
    call: (method, data, options) =>
      Promise.all(
        sessions.map(async (session, index): Promise<LaneAnswer> => {
          const own = data[index] ?? null;
          if (own === null) return null;
          const message = method === "state" ? { type: method } : { type: method, data: own };
          return session.call(message, options).catch(asAnswer);
        }),
      ),
    isLost: (index) => sessions[index]?.lost ?? true,
    close: async () => {
      await Promise.all(sessions.map((session) => session.close()));
    },
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

function asAnswer(error: unknown): RemoteError | ConnectionError {
  if (error instanceof RemoteError || error instanceof ConnectionError) return error;
  throw error;
}
