import { loadBinary } from "#core/protocol/codec/binary.js";
import { ownerName } from "#core/server/sqlite/owner.js";
import type { KeeperSettings } from "#core/session/registry/session-keeper.js";
import type { Runtime } from "#core/session/runtime.js";
import { measureJournal } from "../journals/measured.js";
import { openJournal } from "../journals/open-journal.js";
import type { DurableSessions } from "../session/durable-sessions.js";
import { StoredSessions } from "./stored-sessions.js";

/** The time for which the journal remembers why a session ended, milliseconds. */
const RETENTION_MS = 3_600_000;
/** The interval at which sessions without a process are looked for, milliseconds. */
const TIDY_MS = 5_000;

/** Opens the journal that the settings name, and the store of its sessions. @throws ConfigError */
export async function startStore(
  settings: KeeperSettings,
  durable: DurableSessions,
  { definition, idPrefix, log, statistics }: Runtime,
): Promise<{ store: StoredSessions } & AsyncDisposable> {
  const { contract, snapshotVersion } = definition;
  const owner = ownerName(idPrefix);
  const { hash } = await contract.fingerprint();
  const version = `${hash}/${snapshotVersion}`;
  const journal = measureJournal(await openJournal(settings, owner, { version }), statistics);
  const codec = await loadBinary();
  const { workers } = settings;
  const parts = { journal, codec, owner, version, workers, retentionMs: RETENTION_MS, statistics, log };
  const store = new StoredSessions(durable, parts);
  const tidy = (): Promise<void> =>
    store.tidy(settings.sessionTimeoutMs ?? Number.POSITIVE_INFINITY).catch((error: unknown) => {
      log.error({ err: error as Error }, "the journal could not be read");
    });
  await tidy();
  const timer = setInterval(() => void tidy(), TIDY_MS).unref();
  return {
    store,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await store.close();
    },
  };
}
