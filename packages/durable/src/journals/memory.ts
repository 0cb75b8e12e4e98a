import {
  epochLost,
  hasEndedBefore,
  isElsewhere,
  type Journal,
  type JournalEntry,
  type JournalRecord,
} from "./journal.js";

interface Stored extends JournalEntry {
  cells: Map<string, Uint8Array>;
}

/** What several journals of one process share: each is then like another process. */
export class MemoryStore {
  readonly sessions = new Map<string, Stored>();
  readonly owners = new Set<string>();
}

/** A journal in the memory of this process: a session survives the end of the thread or process of its environment. */
export function openMemoryJournal(owner: string, store = new MemoryStore()): Journal {
  const { sessions, owners } = store;
  owners.add(owner);
  const own = (id: string, epoch: number): Stored | undefined => {
    const found = sessions.get(id);
    return found?.epoch === epoch && found.ended === null ? found : undefined;
  };
  const isHeld = (entry: JournalEntry): boolean =>
    entry.ended === null && entry.owner !== null && owners.has(entry.owner);
  const close = async (): Promise<void> => void owners.delete(owner);
  return {
    create(id, tokenHash) {
      const found = sessions.get(id);
      if (found?.ended === null) throw isElsewhere(id);
      const epoch = (found?.epoch ?? 0) + 1;
      sessions.set(id, { id, tokenHash, epoch, owner, ended: null, cells: new Map() });
      return epoch;
    },
    find: (id) => sessions.get(id),
    isHeld,
    takeOver(id): JournalRecord | undefined {
      const found = sessions.get(id);
      if (found === undefined || found.ended !== null) return undefined;
      if (found.owner !== owner && isHeld(found)) throw isElsewhere(id);
      const taken = { ...found, epoch: found.epoch + 1, owner };
      sessions.set(id, taken);
      return { ...taken, cells: new Map(taken.cells) };
    },
    commit(id, epoch, { put, remove }) {
      const found = own(id, epoch);
      if (found === undefined) throw epochLost(id, epoch);
      for (const name of remove) found.cells.delete(name);
      for (const [name, value] of put) found.cells.set(name, value);
    },
    release(id, epoch) {
      const found = own(id, epoch);
      if (found !== undefined) sessions.set(id, { ...found, owner: null });
    },
    end(id, epoch, reason) {
      const found = own(id, epoch);
      if (found === undefined) return;
      sessions.set(id, { ...found, owner: null, ended: { at: Date.now(), reason }, cells: new Map() });
    },
    list: () => [...sessions.values()],
    read: (id) => sessions.get(id),
    removeEnded(listed, before) {
      for (const { id } of listed) {
        const found = sessions.get(id);
        if (found !== undefined && hasEndedBefore(found, before)) sessions.delete(id);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
