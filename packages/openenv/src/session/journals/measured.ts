import { isThenable } from "../../util/async/thenable.js";
import type { Eventual } from "../../util/types.js";
import type { JournalStatistics } from "../statistics/journal-statistics.js";
import { type Journal, type JournalEntry, JournalError } from "./journal.js";

/** A journal of any store whose calls are measured: whether the store can be used, and the times of its commits. */
export function measureJournal(journal: Journal, statistics: JournalStatistics): Journal {
  const watch = <T>(call: () => Eventual<T>): Eventual<T> => {
    const succeeded = (value: T): T => {
      statistics.isUp = true;
      return value;
    };
    const failed = (error: unknown): never => {
      // The others are answers of a store that works.
      statistics.isUp = !(error instanceof JournalError) || error.code !== "JOURNAL_UNAVAILABLE";
      throw error;
    };
    try {
      const done = call();
      return isThenable(done) ? Promise.resolve(done).then(succeeded, failed) : succeeded(done);
    } catch (error) {
      return failed(error);
    }
  };
  statistics.isUp = true;
  const { takers } = journal;
  return {
    ...(takers !== undefined && { takers: () => Promise.resolve(watch(() => takers.call(journal))) }),
    create: (id, tokenHash) => watch(() => journal.create(id, tokenHash)),
    find: (id) => watch(() => journal.find(id)),
    isHeld: (entry: JournalEntry) => watch(() => journal.isHeld(entry)),
    takeOver: (id) => watch(() => journal.takeOver(id)),
    commit: (id, epoch, changes) => {
      const since = performance.now();
      const record = (): void => statistics.commits.record(performance.now() - since);
      const done = watch(() => journal.commit(id, epoch, changes));
      if (isThenable(done)) return Promise.resolve(done).then(record);
      record();
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
