import type { Statistics } from "#core/session/statistics/statistics.js";
import { isThenable } from "#core/util/async/thenable.js";
import type { Eventual } from "#core/util/types.js";
import { type Journal, type JournalEntry, JournalError } from "./journal.js";

/** A journal of any store whose calls are measured: whether the store can be used, and the times of its commits. */
export function measureJournal(journal: Journal, statistics: Statistics): Journal {
  const failed = (error: unknown): never => {
    // The others are answers of a store that works.
    statistics.journalUp = !(error instanceof JournalError) || error.code !== "JOURNAL_UNAVAILABLE";
    throw error;
  };
  const watch = <T>(call: () => Eventual<T>, done = (): void => {}): Eventual<T> => {
    const succeeded = (value: T): T => {
      statistics.journalUp = true;
      done();
      return value;
    };
    try {
      const called = call();
      return isThenable(called) ? Promise.resolve(called).then(succeeded, failed) : succeeded(called);
    } catch (error) {
      return failed(error);
    }
  };
  statistics.journalUp = true;
  const { takers } = journal;
  return {
    ...(takers !== undefined && { takers: () => Promise.resolve(watch(() => takers.call(journal))) }),
    create: (id, tokenHash) => watch(() => journal.create(id, tokenHash)),
    find: (id) => watch(() => journal.find(id)),
    isHeld: (entry: JournalEntry) => watch(() => journal.isHeld(entry)),
    takeOver: (id) => watch(() => journal.takeOver(id)),
    commit: (id, epoch, changes) => {
      const since = performance.now();
      return watch(
        () => journal.commit(id, epoch, changes),
        () => statistics.counts.openenv_journal_commit_seconds.record(performance.now() - since),
      );
    },
    release: (id, epoch) => watch(() => journal.release(id, epoch)),
    end: (id, epoch, reason) => watch(() => journal.end(id, epoch, reason)),
    list: () => watch(() => journal.list()),
    read: (id) => watch(() => journal.read(id)),
    removeEnded: (listed, before) => watch(() => journal.removeEnded(listed, before)),
    get onWanted() {
      return journal.onWanted;
    },
    set onWanted(wanted) {
      journal.onWanted = wanted;
    },
    close: () => journal.close(),
    [Symbol.asyncDispose]: () => journal[Symbol.asyncDispose](),
  };
}
