import { ConfigError } from "../errors.js";
import { loadBinary } from "../protocol/codec/binary.js";
import type { Journal } from "../session/journals/journal.js";
import { measureJournal } from "../session/journals/measured.js";
import { ownerName } from "../session/journals/owner.js";
import type { Sessions } from "../session/registry/sessions.js";
import { StoredSessions } from "../session/resume/stored-sessions.js";
import type { Runtime } from "../session/runtime.js";
import type { Cluster } from "./cluster.js";
import type { Config } from "./config/config.js";
import type { Settings } from "./config/settings.js";
import type { Logger } from "./logging/logger.js";

type JournalSettings = Pick<Settings, "journal" | "journalDurability" | "journalRetention">;

/** The interval at which sessions without a process are looked for, milliseconds. */
const TIDY_MS = 5_000;
const ADDRESS = /^\w+:\/\//;

/** The journal that the settings name. @throws ConfigError when it cannot be used, or its package is not installed. */
async function openJournal(
  { journal, journalDurability }: JournalSettings,
  owner: string,
  { version, isFirst = false }: { version?: string; isFirst?: boolean } = {},
): Promise<Journal> {
  const place = journal ?? "memory";
  if (place === "memory") return (await import("../session/journals/memory.js")).openMemoryJournal(owner);
  if (/^rediss?:/.test(place)) {
    return (await import("../session/journals/redis.js")).openRedisJournal({
      url: place,
      owner,
      ...(version !== undefined && { version }),
    });
  }
  if (ADDRESS.test(place)) throw new ConfigError(`JOURNAL must be a file, redis:// or memory, not "${place}".`);
  const { openSqliteJournal } = await import("../session/journals/sqlite/sqlite-journal.js");
  return openSqliteJournal({ path: place, durability: journalDurability, owner, isFirst });
}

/**
 * Called once for a server, before its workers start: drops a file that the machine's restart may have damaged, fails when
 * the journal cannot be used, and keeps a file from other servers until it is closed. @throws ConfigError.
 */
export async function holdJournal(settings: JournalSettings): Promise<AsyncDisposable | undefined> {
  const { journal } = settings;
  if (journal === undefined || journal === "memory") return undefined;
  const opened = await openJournal(settings, ownerName(""), { isFirst: true });
  if (!ADDRESS.test(journal)) return opened;
  await opened.close();
  return undefined;
}

/** Opens the journal of a server or worker. Returns undefined without one. @throws ConfigError. */
export async function startJournal(
  config: Config,
  sessions: Sessions,
  { cluster, log, runtime }: { cluster: Cluster | undefined; log: Logger; runtime: Runtime },
): Promise<AsyncDisposable | undefined> {
  if (config.journal === undefined) return undefined;
  const owner = ownerName(cluster?.idPrefix ?? "");
  const { statistics } = runtime;
  const { contract, snapshotVersion } = runtime.definition;
  const { hash } = await contract.fingerprint();
  const version = `${hash}/${snapshotVersion}`;
  const journal = measureJournal(await openJournal(config, owner, { version }), statistics);
  const retentionMs = config.journalRetention * 1000;
  const codec = await loadBinary();
  const { workers } = config;
  const parts = { journal, codec, owner, version, workers, retentionMs, statistics, log };
  const own = new StoredSessions(sessions, parts);
  const tidy = (): Promise<void> =>
    own.tidy(config.sessionTimeoutMs ?? Number.POSITIVE_INFINITY).catch((error: unknown) => {
      log.error({ err: error as Error }, "the journal could not be read");
    });
  await tidy();
  const timer = setInterval(() => void tidy(), TIDY_MS).unref();
  sessions.journal = own;
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await own.close();
    },
  };
}
