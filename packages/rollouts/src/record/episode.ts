import { randomBytes } from "node:crypto";
import type { Fault } from "#core/errors.js";
import type { JsonObject, ServerMessage } from "#core/protocol/messages.js";
import { ROLLOUT_OUTCOMES, type RolloutOutcome } from "#core/protocol/rollout-query.js";
import type { RolloutEvent, StripStep } from "#core/protocol/rollouts.js";
import { isToolAction, type ToolErrorBody, toolFault } from "#core/protocol/tools.js";
import type { EventNotes } from "#core/server/plugins/plugin.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { isObject } from "#core/util/is-object.js";
import { clip } from "#core/util/text/clip.js";
import type { StoredFailure } from "../query/summaries.js";
import { EPISODE_COLUMNS, type EpisodeValues } from "../store/store-file.js";
import type { Written } from "../store/writer.js";
import { describeFailure, keyOf } from "./failure.js";
import { toSafeJson } from "./redact.js";

/** What is known of an episode before its first event. */
export interface EpisodeStart {
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

/** The member of an observation's metadata with the named parts of a reward. */
const COMPONENTS = "reward_components";
const MAX_STRIP = 64;
const MAX_NAME = 200;
const MAX_LABELS = 20;
const MAX_NOTE = 80;

type ParsedAnswer = Pick<RolloutEvent, "answer" | "reward" | "error" | "components"> & { isTruncated: boolean };

/** An episode while it runs: its columns, and the lines of its contents that are not written yet. */
export class RecordedEpisode {
  readonly id = randomBytes(8).toString("hex");
  /** A part of it is lost: it is never shown as complete. */
  isBroken: boolean;
  isDone = false;
  /** Characters of the lines that are not written. */
  pending = 0;
  hasChanged = true;
  readonly startedAt: number;
  readonly #start: EpisodeStart;
  readonly #values: Pick<EpisodeValues, "run" | "policy" | "grp" | "task" | "split" | "seed" | "episode" | "labels">;
  #lines: string[] = [];
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
  /** The last observation, of which the note is made when it is needed. */
  #last: JsonObject = {};
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

  get ageMs(): number {
    return Date.now() - this.startedAt;
  }

  /** Adds what happened. `endedAt`: when, in milliseconds since 1970. */
  add(
    { type, request, answer: given, recorded }: SessionEvent,
    { ms: exact, view }: EventNotes,
    endedAt: number,
  ): void {
    const tool = toolOf(type, request);
    // A reset without a seed got one from the server.
    this.#values.seed ??= recorded.seed ?? null;
    const { isTruncated, ...read } = readAnswer(given);
    const { answer, reward, error, components } = read;
    if (error !== null) this.#failure = describeFailure({ ...error, tool }, error.message);
    this.#endsFailed = error !== null && error.fault !== "client" && answer === null;
    this.isDone = answer?.done ?? false;
    this.#isTruncated = isTruncated;
    if (tool !== null) this.#tools.add(tool);
    if (type !== "reset") this.#count(reward, components, error !== null);
    if (reward !== null && type !== "reset") this.#reward = (this.#reward ?? 0) + reward;
    this.#lastAt = endedAt;
    const { contents } = this.#start;
    if (contents && answer !== null) this.#last = answer.observation;
    const ms = Math.round(exact * 1000) / 1000;
    const at = Math.max(0, Math.round(endedAt - this.startedAt - ms));
    const event: Omit<RolloutEvent, "event" | "sameAs"> = {
      ...{
        type,
        at,
        ms,
        request: contents ? request : null,
        answer: contents ? answer : null,
        reward,
        components,
        tool,
      },
      error: error !== null && !contents ? { ...error, message: this.#failure?.text ?? "" } : error,
      view: contents ? (view ?? null) : null,
    };
    const line = toSafeJson(event);
    this.#lines.push(line);
    this.#events++;
    this.pending += line.length;
    this.hasChanged = true;
  }

  /** The row, with the lines since the last one. */
  take(outcome: RolloutOutcome): Written {
    const body = this.#lines.length === 0 || this.isBroken ? null : this.#lines.join("\n");
    if (body !== null) this.#parts++;
    this.#lines = [];
    this.pending = 0;
    this.hasChanged = false;
    this.#note = noteOf(this.#last) || this.#note;
    const { contents, parent, ...start } = this.#start;
    const failure = this.#failure;
    const shown = failure && (contents ? failure : { ...failure, message: failure.text });
    const values: EpisodeValues = {
      ...{ ...start, ...this.#values, id: this.id, outcome: ROLLOUT_OUTCOMES.indexOf(outcome) },
      ...{
        started: this.startedAt,
        duration: Math.round(this.#lastAt - this.startedAt),
        steps: this.#steps,
        reward: outcome === "failed" || outcome === "incomplete" ? null : this.#reward,
      },
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

  #count(reward: number | null, components: Record<string, number> | null, failed: boolean): void {
    for (const [name, part] of Object.entries(components ?? {}))
      this.#components[name] = (this.#components[name] ?? 0) + part;
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
  const more = Object.keys(options).length === 0 ? "" : ` ${clip(toSafeJson(options), MAX_NAME)}`;
  const start = [known.split, task !== null && `task ${task}`, known.seed !== null && `seed ${known.seed}`].filter(
    Boolean,
  );
  return {
    ...known,
    run: nameOf(given["run"]),
    policy: Number.isFinite(policy) ? policy : null,
    grp: nameOf(given["group"]) ?? (start.length === 0 ? null : start.join(" ") + more),
    episode: nameOf(episode),
    labels: JSON.stringify(Object.fromEntries(labels)),
  };
}

function nameOf(value: unknown): string | null {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return null;
  return clip(String(value), MAX_NAME);
}

function toolOf(type: SessionEvent["type"], request: JsonObject): string | null {
  if (type === "tool") return nameOf(request["name"]);
  if (type !== "step" || !isToolAction(request)) return null;
  return nameOf(request["tool_name"] ?? request["type"]);
}

function readAnswer(answer: SessionEvent["answer"]): ParsedAnswer {
  const none = { answer: null, reward: null, components: null, isTruncated: false };
  if (!("type" in answer)) {
    if (answer.error !== null) return { ...none, error: toolFailure(answer.error) };
    return { ...none, answer: { observation: { result: answer.result }, reward: null, done: false }, error: null };
  }
  if (answer.type === "error") {
    const { code, message, fault } = answer.data;
    return { ...none, error: { code, message, fault } };
  }
  const { observation, reward, done, metadata } = (answer as Extract<ServerMessage, { type: "observation" }>).data;
  const { [COMPONENTS]: given } = metadata ?? {};
  const parts = isObject(given) ? Object.entries(given).filter(([, part]) => typeof part === "number") : [];
  const failed = isObject(observation["error"]) && "error_type" in observation["error"];
  const { metadata: _, ...fields } = observation;
  return {
    answer: {
      observation: fields,
      reward: reward === null ? null : Number(reward),
      done,
      ...(metadata && { metadata }),
    },
    reward: reward === null ? null : Number(reward),
    components: parts.length === 0 ? null : (Object.fromEntries(parts) as Record<string, number>),
    isTruncated: metadata?.["truncated"] === true,
    error: failed ? toolFailure(observation["error"] as unknown as ToolErrorBody) : null,
  };
}

function toolFailure(error: ToolErrorBody): { code: string; message: string; fault: Fault } {
  return { code: error.code ?? error.error_type, message: error.message, fault: toolFault(error) ?? "environment" };
}

/** The first text of an observation, in a line. */
function noteOf(observation: JsonObject): string {
  const text = Object.values(observation).find((value) => typeof value === "string" && value.trim() !== "");
  return text === undefined
    ? ""
    : clip(
        String(text)
          .slice(0, MAX_NOTE * 4)
          .replace(/\s+/g, " ")
          .trim(),
        MAX_NOTE,
      );
}
