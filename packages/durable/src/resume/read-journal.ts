import { existsSync, statSync } from "node:fs";
import { ConfigError } from "#core/errors.js";
import { type BinaryCodec, loadBinary } from "#core/protocol/codec/binary.js";
import { hasSqliteHeader } from "#core/server/sqlite/database.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import type { JournalEntry, JournalReader, JournalRecord } from "../journals/journal.js";
import { readBatch, readImage, readLost, readOpener } from "../session/journal-cells.js";

/** The events of a session since its last reset, or why there are none to play again. */
export type StoredSession = { id: string } & ({ events: SessionEvent[] } | { reason: string });

/**
 * Reads the sessions of a journal, also while servers use it. Changes nothing, and takes no session over.
 * @throws ConfigError when it cannot be read, is damaged, or has no sessions.
 */
export async function* readJournal(source: string): AsyncGenerator<StoredSession> {
  await using journal = await openReader(source);
  const codec = await loadBinary();
  const entries = await journal.list();
  if (entries.length === 0) throw new ConfigError("The journal has no sessions.");
  const place = ({ id, ended }: JournalEntry): string => (ended === null ? "0" : "1") + id;
  // Those that have ended come last.
  for (const { id } of entries.sort((one, other) => (place(one) < place(other) ? -1 : 1))) {
    const record = await journal.read(id);
    // It may have been removed meanwhile.
    if (record === undefined) continue;
    if (record.ended !== null) yield { id, reason: `it has ended: ${record.ended.reason || "by its client"}` };
    else yield* readSessions(record, codec);
  }
}

/** Decides by the address, or by the first bytes of a file. A file that is damaged may have only its name. */
export function isJournal(source: string): boolean {
  if (/^rediss?:/.test(source)) return true;
  if (!existsSync(source)) return false;
  return source.endsWith(".db") || (statSync(source).isFile() && hasSqliteHeader(source));
}

async function openReader(place: string): Promise<JournalReader> {
  if (/^rediss?:/.test(place)) return (await import("../journals/redis.js")).readRedisJournal(place);
  return (await import("../journals/sqlite/sqlite-journal.js")).readSqliteJournal(place);
}

/** The session, or those of a batch. */
function readSessions(record: JournalRecord, codec: BinaryCodec): StoredSession[] {
  const batch = [...readBatch(record)].map(([number, id]) => ({ id, prefix: `${number}.` }));
  // A session by address is stored by the hash of its name.
  const stored = batch.length > 0 ? batch : [{ id: readOpener(record)?.id ?? record.id, prefix: "" }];
  return stored.map(({ id, prefix }) => {
    try {
      return { id, ...readEpisode(record, codec, prefix) };
    } catch (error) {
      const reason = (error as Error).message;
      throw new ConfigError(`The journal is damaged: session ${id} cannot be read: ${reason}`, { cause: error });
    }
  });
}

function readEpisode(
  record: JournalRecord,
  codec: BinaryCodec,
  prefix: string,
): { events: SessionEvent[] } | { reason: string } {
  const lost = readLost(record, prefix);
  if (lost !== undefined) return { reason: lost };
  const image = readImage(record, codec, prefix);
  if (image === undefined) return { events: [] };
  const { restore, event } = image;
  if ("events" in restore) return { events: restore.events };
  const kept = `the journal has the state after event ${event}, and no events`;
  return { reason: `its environment has snapshots: ${kept}. Record its episodes with openenv collect to replay them` };
}
