import type { RolloutEvent } from "#core/protocol/rollouts.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { isObservation, readOutcome, toolOf } from "./outcome.js";

/** The longest text of an episode that is searched, characters. */
const MAX_TEXT = 65_536;

type Line = Omit<RolloutEvent, "event" | "sameAs">;

/** A line has the answer as it was given, so that nothing is made of it while a session waits. */
function readLine(line: string): Line {
  const { given, ...read } = JSON.parse(line) as Line & { given?: SessionEvent["answer"] };
  if (given === undefined) return { ...read, request: null, answer: null, view: null };
  const { reward, components, error } = readOutcome(given);
  const tool = toolOf(read.type, read.request ?? {});
  return { ...read, answer: readAnswer(given), reward, components, tool, error, view: read.view ?? null };
}

/** The observation without its metadata, which are a part of the answer. Null for an error. */
export function readAnswer(given: SessionEvent["answer"]): RolloutEvent["answer"] {
  if (!("type" in given)) {
    return given.error === null ? { observation: { result: given.result }, reward: null, done: false } : null;
  }
  if (!isObservation(given)) return null;
  const { observation, reward, done, metadata } = given.data;
  const { metadata: _, ...fields } = observation;
  return { observation: fields, reward: reward === null ? null : Number(reward), done, ...(metadata && { metadata }) };
}

/** Reads the lines of an episode. `sameAs` follows from the others. */
export function readEvents(lines: readonly string[]): RolloutEvent[] {
  const seen = new Map<string, number>();
  return lines.map((line, event) => {
    const read = readLine(line);
    const call = read.request === null || read.type === "reset" ? "" : `${read.tool} ${JSON.stringify(read.request)}`;
    const sameAs = call === "" ? null : (seen.get(call) ?? null);
    if (sameAs === null && call !== "") seen.set(call, event);
    return { event, ...read, sameAs };
  });
}

/** The words of an episode: the strings of its requests, observations and errors. The same lines give the same text. */
export function textOf(lines: Iterable<string>): string {
  let text = "";
  const walk = (value: unknown): void => {
    if (text.length >= MAX_TEXT) return;
    if (typeof value === "string") text += `${value.slice(0, MAX_TEXT)}\n`;
    else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) walk(inner);
  };
  for (const line of lines) {
    if (text.length >= MAX_TEXT) break;
    const { request, answer, error } = readLine(line);
    walk([request, answer?.observation, error?.message]);
  }
  return text;
}
