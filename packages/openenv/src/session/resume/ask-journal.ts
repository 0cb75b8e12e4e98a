import { errorData } from "../../protocol/messages.js";
import type { Log } from "../../util/log.js";
import type { Eventual } from "../../util/types.js";
import { toError } from "../failure.js";
import { JournalError } from "../journals/journal.js";
import { SessionRejectedError } from "../session-rejected-error.js";

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
