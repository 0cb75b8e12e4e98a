import { ROLLOUT_OUTCOMES, type RolloutOutcome } from "#core/protocol/rollout-query.js";
import type { EventNotes, ServerHandle, SessionHandle } from "#core/server/plugins/plugin.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { EPISODE_COLUMNS } from "../store/store-file.js";
import type { Written } from "../store/writer.js";
import { type EpisodeStart, RecordedEpisode } from "./episode.js";

export interface RecorderOptions {
  write(batch: Written[]): Promise<void>;
  counts: { rollouts_episodes_total: number; rollouts_dropped_total: number; rollouts_up: number };
  log: ServerHandle["log"];
}

interface Sent {
  written: Written;
  episode: RecordedEpisode;
  /** It has ended. */
  isLast: boolean;
}

/** Characters on their way to the file: episodes beyond that are dropped. */
const MAX_SENT = 64 * 1024 * 1024;
const SEND_MS = 50;
const SEND_ROWS = 64;
/** The interval at which an episode that runs is written, and the characters from which it is written earlier. */
const RUNNING_MS = 2_000;
const MAX_PENDING = 256 * 1024;
/** A call that takes longer is shown as stuck. */
const STUCK_MS = 10_000;
/** A call that still runs when its session ends is waited for. */
const LATE_MS = 10_000;
const LOG_MS = 60_000;
const MAX_FAILED = 1_000;
const OUTCOME = EPISODE_COLUMNS.indexOf("outcome");
const REWARD = EPISODE_COLUMNS.indexOf("reward");
const INCOMPLETE = ROLLOUT_OUTCOMES.indexOf("incomplete");

/** Takes events of sessions, and gives whole rows to the thread that writes. */
export class EpisodeRecorder {
  readonly #options: RecorderOptions;
  readonly #sessions = new Set<SessionRecorder>();
  #outbox: Sent[] = [];
  /** Rows that could not be written. Contents that were sent with them are lost. */
  #failed: Sent[] = [];
  #sent = 0;
  #writing: Promise<void> = Promise.resolve();
  #loggedAt = Number.NEGATIVE_INFINITY;
  readonly #timers: NodeJS.Timeout[];

  constructor(options: RecorderOptions) {
    this.#options = options;
    options.counts.rollouts_up = 1;
    this.#timers = [setInterval(() => this.#send(), SEND_MS), setInterval(() => this.#tick(), RUNNING_MS)];
    for (const timer of this.#timers) timer.unref();
  }

  open(session: SessionHandle, start: SessionStart): SessionRecorder {
    const recorded = new SessionRecorder(this, session, start);
    this.#sessions.add(recorded);
    return recorded;
  }

  /** Puts what an episode has become into the next transaction. Returns the outcome that it got. */
  write(episode: RecordedEpisode, outcome: RolloutOutcome): RolloutOutcome {
    if (this.#sent + episode.pending > MAX_SENT) episode.isBroken = true;
    const isLast = outcome !== "running" && outcome !== "stuck";
    const given = isLast && episode.isBroken ? "incomplete" : outcome;
    const written = episode.take(given);
    this.#sent += written.body?.length ?? 0;
    this.#outbox.push({ written, episode, isLast });
    if (this.#outbox.length >= SEND_ROWS) this.#send();
    return given;
  }

  forget(session: SessionRecorder): void {
    this.#sessions.delete(session);
  }

  /** Resolves when everything is in the file. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    for (const session of this.#sessions) session.finish();
    this.#send();
    await this.#writing;
  }

  #tick(): void {
    this.#outbox.push(...this.#failed.splice(0));
    for (const session of this.#sessions) session.tick();
  }

  #send(): void {
    if (this.#outbox.length === 0) return;
    const sent = this.#outbox;
    this.#outbox = [];
    const size = sent.reduce((sum, { written: { body } }) => sum + (body?.length ?? 0), 0);
    const { counts, write } = this.#options;
    const done = write(sent.map(({ written }) => written)).then(
      () => {
        counts.rollouts_up = 1;
        for (const { episode, isLast } of sent) {
          if (!isLast || episode.isCounted) continue;
          // Its row may be written again.
          episode.isCounted = true;
          counts[episode.isBroken ? "rollouts_dropped_total" : "rollouts_episodes_total"]++;
        }
      },
      (error: unknown) => this.#fail(sent, error),
    );
    this.#writing = Promise.all([this.#writing, done]).then(() => void (this.#sent -= size));
  }

  /** The episodes continue without what was lost, and their rows say so when there is room again. */
  #fail(sent: readonly Sent[], error: unknown): void {
    const { counts, log } = this.#options;
    counts.rollouts_up = 0;
    for (const one of sent) {
      const { row, body } = one.written;
      if (body !== null) one.episode.isBroken = true;
      if (!one.isLast) continue;
      if (this.#failed.length >= MAX_FAILED) counts.rollouts_dropped_total++;
      else {
        const known = one.episode.isBroken ? row.with(OUTCOME, INCOMPLETE).with(REWARD, null) : row;
        this.#failed.push({ ...one, written: { row: known, body: null } });
      }
    }
    if (performance.now() - this.#loggedAt < LOG_MS) return;
    this.#loggedAt = performance.now();
    log.error({ err: error, episodes: sent.length }, "episodes could not be recorded; sessions continue");
  }
}

/** What is known of all episodes of a session. A session of a batch gets its name after it has opened. */
export type SessionStart = Omit<EpisodeStart, "handle">;

/** The episodes of a session, one after the other. */
export class SessionRecorder {
  readonly #recorder: EpisodeRecorder;
  readonly #session: SessionHandle;
  readonly #start: SessionStart;
  #episode: RecordedEpisode | undefined;
  /** The row says what there is, and only a call can change that. */
  #isSettled = false;
  /** What the row of the episode says. */
  #written: RolloutOutcome | undefined;
  #endedAt: number | undefined;

  constructor(recorder: EpisodeRecorder, session: SessionHandle, start: SessionStart) {
    this.#recorder = recorder;
    this.#session = session;
    this.#start = start;
  }

  ended(): void {
    this.#endedAt = performance.now();
    // A call may still run.
    setTimeout(() => this.tick(), SEND_MS).unref();
  }

  /** Serializes the event; the answer waits for this. */
  record(event: SessionEvent, notes: EventNotes): void {
    const at = Date.now();
    this.#isSettled = false;
    if (event.type === "reset" || this.#episode === undefined) {
      this.#close();
      const start = { ...this.#start, handle: this.#session.handle };
      this.#episode = new RecordedEpisode(start, event, Math.round(at - notes.ms));
    }
    const episode = this.#episode;
    try {
      episode.add(event, notes, at);
    } catch (error) {
      episode.isBroken = true;
      throw error;
    }
    if (episode.pending > MAX_PENDING) this.#write(episode, "running");
    if (this.#endedAt !== undefined) this.tick();
  }

  tick(): void {
    const { busyMs } = this.#session;
    // Most sessions of a server that has thousands.
    if (busyMs === null && this.#isSettled && this.#endedAt === undefined) return;
    if (this.#endedAt !== undefined && (busyMs === null || performance.now() - this.#endedAt > LATE_MS))
      return this.finish();
    const episode = this.#episode;
    if (episode === undefined) return;
    if (episode.isDone) this.#write(episode, episode.outcome);
    else if (busyMs !== null && busyMs > STUCK_MS) return this.#write(episode, "stuck");
    else if (Date.now() - episode.startedAt >= RUNNING_MS) this.#write(episode, "running");
    else return;
    this.#isSettled = true;
  }

  finish(): void {
    this.#close();
    this.#recorder.forget(this);
  }

  #write(episode: RecordedEpisode, outcome: RolloutOutcome): void {
    if (episode.hasChanged || this.#written !== outcome) this.#written = this.#recorder.write(episode, outcome);
  }

  #close(): void {
    const episode = this.#episode;
    if (episode === undefined) return;
    this.#episode = undefined;
    this.#write(episode, episode.outcome);
    this.#written = undefined;
  }
}
