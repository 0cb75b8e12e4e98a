import { errorData } from "#core/protocol/messages.js";
import { toError } from "#core/session/failure.js";
import { SessionRejectedError } from "#core/session/session-rejected-error.js";
import type { Log } from "#core/util/log.js";
import type { Eventual } from "#core/util/types.js";
import { JournalError } from "../journals/journal.js";

const UNAVAILABLE = errorData("JOURNAL_UNAVAILABLE", "The server cannot use its journal now: try again later.");

/** Runs an action of a journal. Its failures become what a client can wait for. @throws SessionRejectedError */
export async function askJournal<T>(action: () => Eventual<T>, log: Log): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof SessionRejectedError) throw error;
    const code = error instanceof JournalError ? error.code : "JOURNAL_UNAVAILABLE";
    const isElsewhere = code !== "JOURNAL_UNAVAILABLE";
    if (!isElsewhere) log.warn({ err: toError(error), fault: "infrastructure" }, "the journal could not be used");
    // Clients do not get the name of its file or host.
    const data = isElsewhere ? errorData("SESSION_ELSEWHERE", toError(error).message) : UNAVAILABLE;
    throw new SessionRejectedError(data, { cause: error });
  }
}
