import type { EpisodeRecord, RecordedFailure, RecordedStep } from "#core/protocol/episode.js";
import { errorData, type ServerMessage, type WireCode } from "#core/protocol/messages.js";
import type { OpenArchive } from "#core/server/parts/rollouts.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { countShared } from "./pairs.js";
import { Reader } from "./query/reader.js";
import { RecordedEpisode } from "./record/episode.js";
import { toRecord } from "./store/record.js";
import { openStore } from "./store/store-file.js";
import { Writer, type Written } from "./store/writer.js";

/** Durations of a file may be negative, infinite or NaN. */
const limit = (ms: number): number => Math.min(Math.max(ms || 0, 0), 1e9);

/** Opens an archive outside of a server, also while one uses it. */
export const openArchive: OpenArchive = async (folder, access) => {
  const writable = access === "write" ? await openStore(folder, "write") : undefined;
  const writer = writable && new Writer(writable);
  const reader = new Reader(await openStore(folder, "read"));
  const needWriter = (): Writer => {
    if (writer === undefined) throw new Error("the archive is open to read");
    return writer;
  };
  return {
    list: (query) => reader.list(query),
    facets: (query) => reader.facets(query),
    detail: (id) => reader.detail(id),
    record(id, number) {
      const found = reader.detail(id);
      return found && toRecord(found, number);
    },
    ids: (query) => reader.ids(query),
    *pairs(query) {
      const matching = new Set(reader.ids(query));
      for (const names of reader.pairs().filter((pair) => matching.has(pair.chosen))) {
        const [chosen, rejected] = [reader.detail(names.chosen), reader.detail(names.rejected)];
        // One was deleted meanwhile.
        if (chosen === undefined || rejected === undefined) continue;
        const records = { chosen: toRecord(chosen, 0), rejected: toRecord(rejected, 0) };
        yield { ...records, shared: countShared(records.chosen, records.rejected) };
      }
    },
    remove: (ids) => needWriter().remove(ids),
    add(records) {
      needWriter().write(records.map(toWritten));
      while (needWriter().index() > 0);
    },
    close() {
      reader.close();
      writable?.close();
    },
  };
};

/** The row of an episode of a file: it goes through what records an episode of a server. */
function toWritten(record: EpisodeRecord): Written {
  const { environment: env, reset, start, steps, failures = [], end, started_at } = record;
  const startedAt = Date.parse(started_at) || Date.now();
  const fixed = { handle: "", worker: 0, env, version: "", client: "import", contents: true };
  const events: { event: Omit<SessionEvent, "event" | "recorded">; ms: number }[] = [
    { event: { type: "reset", request: reset, answer: toAnswer(start) }, ms: start.ms },
  ];
  const addFailures = (after: number): void => {
    for (const one of failures.filter((failure) => failure.after === after)) {
      events.push({ event: { type: one.kind, request: one.action, answer: toError(one) }, ms: one.ms });
    }
  };
  addFailures(0);
  for (const [index, step] of steps.entries()) {
    events.push({ event: { type: "step", request: step.action, answer: toAnswer(step) }, ms: step.ms });
    addFailures(index + 1);
  }
  const whole = events.map(({ event, ms }, index) => ({ event: { ...event, event: index + 1, recorded: {} }, ms }));
  const episode = new RecordedEpisode(fixed, (whole[0] as (typeof whole)[number]).event, startedAt);
  let at = startedAt;
  for (const { event, ms } of whole) episode.add(event, { ms: limit(ms) }, (at += limit(ms)));
  if (end === "lost") return episode.take("failed");
  return episode.take(end === "max_steps" ? "truncated" : episode.outcome);
}

function toAnswer({ observation, reward, done, metadata }: Omit<RecordedStep, "action">): ServerMessage {
  return { type: "observation", data: { observation, reward, done, ...(metadata && { metadata }) } };
}

function toError({ code, message }: RecordedFailure): ServerMessage {
  return { type: "error", data: errorData(code as WireCode, message) };
}
