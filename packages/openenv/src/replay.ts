/** What is played again, and what plays it: the events of sessions, and a client that gets what was recorded from outside. */
import { findDurable, type JournalsPart, loadDurable } from "./server/parts/durable.js";

export { fetchEvents } from "./client/session-events.js";
export { connectUntyped } from "./connect-in-process.js";

/** Decides by the address, or by the first bytes of a file. A file that is damaged may have only its name. */
export async function isJournal(source: string): Promise<boolean> {
  const journals = await (await findDurable())?.loadJournals();
  return journals?.isJournal(source) === true;
}

/** @throws ConfigError when the journal cannot be read, is damaged, or has no sessions. */
export async function readJournal(source: string): Promise<ReturnType<JournalsPart["readJournal"]>> {
  const { loadJournals } = await loadDurable("A journal");
  return (await loadJournals()).readJournal(source);
}
