import { createHash, randomBytes } from "node:crypto";
import type { ForkBody, ForkRequest } from "../../protocol/http.js";
import { forkSession } from "../copies/fork.js";
import { ANSWERS_FULL } from "../durable/durable-sessions.js";
import type { Sessions } from "../registry/sessions.js";
import type { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";

/** Opens copies of a session that wait for sockets which resume them. @throws SessionRejectedError */
export async function forkResumable(sessions: Sessions, session: Session, wanted: ForkRequest): Promise<ForkBody> {
  if (!sessions.durable.makeRoom()) throw new SessionRejectedError(ANSWERS_FULL);
  const { event, forks } = await forkSession(sessions, session, wanted);
  const keep = async (copy: Session): Promise<ForkBody["sessions"][number]> => {
    // A journal takes a snapshot of each.
    await session.runtime.runQueue.turn();
    const token = randomBytes(24).toString("base64url");
    const hash = createHash("sha256").update(token).digest("hex");
    const durableSession = sessions.durable.add(copy, hash, undefined);
    await sessions.journal?.add(durableSession);
    sessions.detachResumable(durableSession);
    return { session_id: copy.id, token };
  };
  const copies = await Promise.all(forks.map(keep)).catch((error: unknown) => {
    for (const copy of forks) sessions.end(copy, "its copies could not be stored");
    throw error;
  });
  return { event, sessions: copies };
}
