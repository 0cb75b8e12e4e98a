import { randomBytes } from "node:crypto";
import type { JsonObject } from "#core/protocol/messages.js";
import { ROLLOUT_OUTCOMES, type RolloutOutcome } from "#core/protocol/rollout-query.js";
import type { StripStep } from "#core/protocol/rollouts.js";
import type { EventNotes } from "#core/server/plugins/plugin.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { lastRecorded } from "#core/session/messages/message-codec.js";
import { isObject } from "#core/util/is-object.js";
import { clip } from "#core/util/text/clip.js";
import type { StoredFailure } from "../query/summaries.js";
import { readAnswer } from "../store/event-lines.js";
import { isObservation, nameOf, readOutcome, toolOf } from "../store/outcome.js";
import { EPISODE_COLUMNS, type EpisodeValues } from "../store/store-file.js";
import type { Written } from "../store/writer.js";
import { describeFailure, keyOf } from "./failure.js";
import { redact } from "./redact.js";

/** What is known of an episode before its first event. */
export interface EpisodeStart {
  /** The public name of its session. */
  handle: string;
  worker: number;
  env: string;
  version: string;
  client: string;
  /** It is a fork. */
  parent?: { id: string; step: number; policy: string } | undefined;
  /** Requests and answers are recorded. */
  contents: boolean;
}

const MAX_LINES = 16;
const NO_BYTES = Buffer.alloc(0);
/** Parts of these sizes are copied, and their buffer is used again: V8 collects garbage after a few megabytes of buffers. */
const REUSED_BYTES = { min: 64 * 1024, max: 1024 * 1024 };
const MAX_STRIP = 64;
const MAX_NAME = 200;
const MAX_LABELS = 20;
const MAX_NOTE = 80;

/** An episode while it runs: its columns, and the lines of its contents that are not written yet. */
export class RecordedEpisode {
  readonly id = randomBytes(8).toString("hex");
  /** A part of it is lost: it is never shown as complete. */
  isBroken: boolean;
  isDone = false;
  /** A metric has it. */
  isCounted = false;
  /** Characters of the lines that are not written. */
  pending = 0;
  hasChanged = true;
  readonly startedAt: number;
  readonly #start: EpisodeStart;
  readonly #values: Pick<EpisodeValues, "run" | "policy" | "grp" | "task" | "split" | "seed" | "episode" | "labels">;
  /** The JSON lines that are not written, in UTF-8, then the last ones. */
  #bytes = NO_BYTES;
  #used = 0;
  readonly #lines: string[] = [];
  /** The bytes that the next part is expected to have. */
  #room = 0;
  #events = 0;
  #parts = 0;
  #steps = 0;
  #reward: number | null = null;
  #lastAt = 0;
  #isTruncated = false;
  /** The last event was an error that was not the client's. */
  #endsFailed = false;
  #failure: StoredFailure | undefined;
  #note = "";
  /** The last answer, of which the note is made when it is needed. */
  #last: SessionEvent["answer"] | undefined;
  readonly #tools = new Set<string>();
  readonly #components: Record<string, number> = {};
  readonly #strip: StripStep[] = [];
  #perStrip = 1;

  constructor(start: EpisodeStart, first: SessionEvent, startedAt: number) {
    this.#start = start;
    this.startedAt = startedAt;
    this.isBroken = first.type !== "reset" && first.event > 1;
    const { parent } = start;
    this.#values = readStart(first.type === "reset" ? first.request : {});
    // Otherwise it would count as one of the episodes that the trainer compares.
    if (parent !== undefined) this.#values.grp = `fork of ${parent.id} after step ${parent.step}`;
  }

  /** Adds what happened. `endedAt`: when, in milliseconds since 1970. */
  add({ type, request, answer, recorded }: SessionEvent, { ms: exact, view }: EventNotes, endedAt: number): void {
    // A reset without a seed got one from the server.
    this.#values.seed ??= recorded.seed ?? null;
    const tool = toolOf(type, request);
    const { reward, components, error, done, isTruncated } = readOutcome(answer);
    if (error !== null) this.#failure = describeFailure({ ...error, tool });
    const isAnswered = error === null || isObservation(answer);
    this.#endsFailed = !isAnswered && error.fault !== "client";
    this.isDone = done;
    this.#isTruncated = isTruncated;
    if (tool !== null) this.#tools.add(tool);
    if (type !== "reset") {
      this.#count(reward, components, error !== null);
      if (reward !== null) this.#reward = (this.#reward ?? 0) + reward;
    }
    this.#lastAt = endedAt;
    this.#events++;
    this.hasChanged = true;
    if (this.isBroken) return;
    const us = Math.round(exact * 1000);
    const at = Math.max(0, Math.round(endedAt - this.startedAt - exact));
    if (this.#start.contents) {
      if (isAnswered) this.#last = answer;
      const asked = JSON.stringify(request);
      const given = JSON.stringify(answer);
      lastRecorded.answer = answer;
      lastRecorded.text = given;
      const shown = view === undefined ? "" : `,"view":${JSON.stringify(view)}`;
      this.pending += asked.length + given.length + shown.length;
      this.#lines.push(`{"type":"${type}","at":${at},"ms":${us}e-3,"request":${asked},"given":${given}${shown}}\n`);
    } else {
      const named = error && { ...error, message: this.#failure?.text ?? "" };
      const line = JSON.stringify({ type, at, ms: us / 1000, reward, components, tool, error: named });
      this.pending += line.length;
      this.#lines.push(`${line}\n`);
    }
    if (this.#lines.length >= MAX_LINES) this.#encode();
  }

  /** The row, with the lines since the last one. */
  take(outcome: RolloutOutcome): Written {
    try {
      if (this.#lines.length > 0) this.#encode();
    } catch {
      this.isBroken = true;
    }
    const lines = this.#bytes.subarray(0, this.#used - 1);
    const isReused = this.#used >= REUSED_BYTES.min && this.#bytes.length <= REUSED_BYTES.max;
    const body = this.#used === 0 || this.isBroken ? null : isReused ? new Uint8Array(lines) : lines;
    if (body !== null) this.#parts++;
    this.#room = Math.ceil(this.#used * 1.1);
    if (!isReused) this.#bytes = NO_BYTES;
    this.#used = 0;
    this.pending = 0;
    this.hasChanged = false;
    if (this.#last !== undefined) this.#note = noteOf(readAnswer(this.#last)?.observation ?? {}) || this.#note;
    this.#last = undefined;
    const { contents, parent, ...start } = this.#start;
    const failure = this.#failure;
    const shown = failure && (contents ? failure : { ...failure, message: failure.text });
    const values: EpisodeValues = {
      ...{ ...start, ...this.#values, id: this.id, outcome: ROLLOUT_OUTCOMES.indexOf(outcome) },
      ...{ started: this.startedAt, duration: Math.round(this.#lastAt - this.startedAt), steps: this.#steps },
      reward: outcome === "failed" || outcome === "incomplete" ? null : this.#reward,
      ...{ parent: parent?.id ?? null, parent_step: parent?.step ?? null, policy_name: parent?.policy ?? null },
      components: JSON.stringify(this.#components),
      tools: JSON.stringify([...this.#tools].sort()),
      error: failure === undefined ? null : keyOf(failure),
      failure: shown === undefined ? null : JSON.stringify(shown),
      note: outcome === "failed" && shown !== undefined ? clip(shown.message, MAX_NOTE) : this.#note,
      strip: JSON.stringify(this.#strip),
      events: this.#events,
      parts: this.#parts,
    };
    return { row: EPISODE_COLUMNS.map((name) => values[name]), body };
  }

  /** The end of an episode to which nothing more will happen. */
  get outcome(): RolloutOutcome {
    if (this.isBroken) return "incomplete";
    if (this.isDone) return this.#isTruncated ? "truncated" : "done";
    return this.#endsFailed ? "failed" : "cut";
  }

  /** Makes lines, several at a time. Their bytes are not moved by the garbage collector, as texts are. */
  #encode(): void {
    const lines = this.#lines.splice(0).join("");
    // Lines without contents have only names of the environment.
    const text = this.#start.contents ? redact(lines) : lines;
    const needed = this.#used + Buffer.byteLength(text);
    if (needed > this.#bytes.length) {
      const old = this.#bytes;
      this.#bytes = Buffer.allocUnsafeSlow(Math.max(this.#room, needed + this.#used));
      old.copy(this.#bytes, 0, 0, this.#used);
    }
    this.#used += this.#bytes.write(text, this.#used);
  }

  #count(reward: number | null, components: Record<string, number> | null, failed: boolean): void {
    for (const name in components)
      this.#components[name] = (this.#components[name] ?? 0) + (components[name] as number);
    const index = Math.floor(this.#steps++ / this.#perStrip);
    const step = (this.#strip[index] ??= { r: null, x: 0 });
    if (reward !== null) step.r = (step.r ?? 0) + reward;
    if (failed) step.x = 1;
    if (this.#strip.length <= MAX_STRIP) return;
    // Each entry then stands for twice as many steps.
    this.#perStrip *= 2;
    const halves = this.#strip.splice(0);
    for (let at = 0; at < halves.length; at += 2) this.#strip.push(join(halves[at] as StripStep, halves[at + 1]));
  }
}

function join(a: StripStep, b: StripStep | undefined): StripStep {
  if (b === undefined) return a;
  return { r: a.r === null && b.r === null ? null : (a.r ?? 0) + (b.r ?? 0), x: a.x || b.x ? 1 : 0 };
}

/** Reads the names that the trainer has given in `metadata` of the reset, and the task. */
function readStart(reset: JsonObject) {
  const { metadata, seed, split, index, episode_id: episode, ...options } = reset;
  const given = isObject(metadata) ? metadata : {};
  const policy = Number(given["policy_step"] ?? Number.NaN);
  const labels = Object.entries(isObject(given["labels"]) ? given["labels"] : {})
    .slice(0, MAX_LABELS)
    .map(([name, value]) => [clip(name, MAX_NAME), nameOf(value) ?? ""]);
  const task = nameOf(given["task"] ?? index);
  const known = { split: nameOf(split), seed: typeof seed === "number" ? seed : null, task };
  const more = Object.keys(options).length === 0 ? "" : ` ${clip(redact(JSON.stringify(options)), MAX_NAME)}`;
  const own = [known.split, task && `task ${task}`, known.seed !== null && `seed ${known.seed}`].filter(Boolean);
  return {
    ...known,
    run: nameOf(given["run"]),
    policy: Number.isFinite(policy) ? policy : null,
    grp: nameOf(given["group"]) ?? (own.length === 0 ? null : own.join(" ") + more),
    episode: nameOf(episode),
    labels: JSON.stringify(Object.fromEntries(labels)),
  };
}

/** The first text of an observation, in a line. */
function noteOf(observation: JsonObject): string {
  const text = Object.values(observation).find((value) => typeof value === "string" && value.trim() !== "") ?? "";
  const line = String(text).slice(0, MAX_NOTE * 4);
  return clip(line.replace(/\s+/g, " ").trim(), MAX_NOTE);
}
