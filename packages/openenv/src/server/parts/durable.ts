import type { SessionEvent } from "../../session/calls/session-event.js";
import { type JournalSettings, RESUME_DEFAULTS } from "../../session/registry/session-keeper.js";
import type { CreateKeeper } from "../../session/registry/sessions.js";
import { findPart, loadPart, missingPart } from "../../util/load-part.js";
import type { Config } from "../config/config.js";
import type { Route } from "../http/router.js";

const NAME = "durable";
const LIMITS = { guaranteeMs: "RESUME_GUARANTEE", answers: "RESUME_ANSWERS", bytes: "RESUME_BYTES" } as const;
const load = (): Promise<unknown> => import("#parts/durable" as string);

/** Undefined where the part is missing: sessions then end with their connection. */
export function findDurable(): Promise<DurablePart | undefined> {
  return findPart<DurablePart>(NAME, load);
}

/** @throws ConfigError that names `use` when the part is missing. */
export function loadDurable(use: string): Promise<DurablePart> {
  return loadPart<DurablePart>(NAME, load, use);
}

/** @throws ConfigError for a limit that was set, and needs the part, which is missing. */
export function rejectLimits({ resume }: Pick<Config, "resume">): void {
  for (const [limit, name] of Object.entries(LIMITS) as [keyof typeof LIMITS, string][])
    if (resume[limit] !== RESUME_DEFAULTS[limit]) throw missingPart(NAME, name);
}

/**
 * Called once for a server, before its workers start: drops a file that the machine's restart may have damaged, fails
 * when the journal cannot be used, and keeps a file from other servers until it is closed.
 * @throws ConfigError, also when the part is missing.
 */
export async function holdJournal(settings: JournalSettings): Promise<AsyncDisposable | undefined> {
  if (settings.journal === undefined) return undefined;
  const { loadJournals } = await loadDurable("JOURNAL");
  return (await loadJournals()).holdJournal(settings);
}

/** What the part exports. */
export interface DurablePart {
  readonly createKeeper: CreateKeeper;
  /** Most servers have no journal, and start without this code. */
  loadJournals(): Promise<JournalsPart>;
  /** The routes `/sessions/{id}/<name>`, by name. */
  readonly routes: Readonly<Record<string, Route>>;
}

/** Journals without a running session. */
export interface JournalsPart {
  /** Holds the journal until it is closed. @throws ConfigError */
  holdJournal(settings: JournalSettings): Promise<AsyncDisposable | undefined>;
  /** Reads the sessions of a journal, also while servers use it. @throws ConfigError when it cannot be read. */
  readJournal(source: string): AsyncIterable<{ id: string } & ({ events: SessionEvent[] } | { reason: string })>;
  isJournal(source: string): boolean;
}
