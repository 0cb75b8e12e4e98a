import { ConfigError } from "#core/errors.js";
import { ownerName } from "#core/server/sqlite/owner.js";
import type { JournalSettings } from "#core/session/registry/session-keeper.js";
import type { Journal } from "./journal.js";

const ADDRESS = /^\w+:\/\//;

/** The journal that the settings name. @throws ConfigError when it cannot be used, or its package is not installed. */
export async function openJournal(
  { journal, journalDurability }: JournalSettings,
  owner: string,
  { version, isFirst = false }: { version?: string; isFirst?: boolean } = {},
): Promise<Journal> {
  const place = journal ?? "memory";
  if (place === "memory") return (await import("./memory.js")).openMemoryJournal(owner);
  if (/^rediss?:/.test(place)) {
    return (await import("./redis.js")).openRedisJournal({
      url: place,
      owner,
      ...(version !== undefined && { version }),
    });
  }
  if (ADDRESS.test(place)) throw new ConfigError(`JOURNAL must be a file, redis:// or memory, not "${place}".`);
  const { openSqliteJournal } = await import("./sqlite/sqlite-journal.js");
  return openSqliteJournal({ path: place, durability: journalDurability, owner, isFirst });
}

/** See `JournalsPart`. */
export async function holdJournal(settings: JournalSettings): Promise<AsyncDisposable | undefined> {
  const { journal } = settings;
  if (journal === undefined || journal === "memory") return undefined;
  const opened = await openJournal(settings, ownerName(""), { isFirst: true });
  if (!ADDRESS.test(journal)) return opened;
  await opened.close();
  return undefined;
}
