import type { EnvironmentOptions } from "#core/environment/environment.js";
import { loadBinary } from "#core/protocol/codec/binary.js";
import { Sessions } from "#core/session/registry/sessions.js";
import { createRuntime } from "#core/session/runtime.js";
import { Statistics } from "#core/session/statistics/statistics.js";
import { silentLog } from "#core/util/log.js";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { createKeeper } from "../src/index.js";
import type { Journal } from "../src/journals/journal.js";
import type { Keeper } from "../src/resume/keeper.js";
import { StoredSessions } from "../src/resume/stored-sessions.js";

const codec = await loadBinary();

/** The sessions of a server of two counters with a journal; `logged` gets the fields of its warnings. */
export function createStored(journal: Journal, logged: unknown[], options?: EnvironmentOptions) {
  const runtime = createRuntime(defineCounter(options).environment);
  const limits = { maxConcurrentEnvs: 2, queueSize: 1, sessionTimeoutMs: null };
  const sessions = new Sessions(runtime, limits, createKeeper);
  const keeper = sessions.keeper as Keeper;
  const log = { ...silentLog, warn: (fields: object) => void logged.push(fields) };
  const server = { owner: "here", version: "", workers: 1, retentionMs: 60_000 };
  const own = new StoredSessions(keeper, { ...server, journal, codec, statistics: new Statistics(), log });
  keeper.store = own;
  return { sessions, keeper, own, addresses: keeper.addresses, journal };
}
