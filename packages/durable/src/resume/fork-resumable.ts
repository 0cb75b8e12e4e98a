import { createHash, randomBytes } from "node:crypto";
import type { ForkBody, ForkRequest } from "#core/protocol/http.js";
import { forkSession } from "#core/session/copies/fork.js";
import type { Session } from "#core/session/session.js";
import { SessionRejectedError } from "#core/session/session-rejected-error.js";
import { ANSWERS_FULL, type DurableSessions } from "../session/durable-sessions.js";

/** Opens copies of a session that wait for sockets which resume them. @throws SessionRejectedError */
export async function forkResumable(
  durable: DurableSessions,
  session: Session,
  wanted: ForkRequest,
): Promise<ForkBody> {
  if (!durable.makeRoom()) throw new SessionRejectedError(ANSWERS_FULL);
  const { event, forks } = await forkSession(durable.sessions, session, wanted);
  const keep = async (copy: Session): Promise<ForkBody["sessions"][number]> => {
    // A journal takes a snapshot of each.
    await session.runtime.runQueue.turn();
    const token = randomBytes(24).toString("base64url");
    const hash = createHash("sha256").update(token).digest("hex");
    const durableSession = durable.add(copy, hash, undefined);
    await durable.store?.add(durableSession);
    durable.detach(durableSession);
    return { session_id: copy.id, token };
  };
  const copies = await Promise.all(forks.map(keep)).catch((error: unknown) => {
    for (const copy of forks) durable.sessions.end(copy, "its copies could not be stored");
    throw error;
  });
  return { event, sessions: copies };
}
