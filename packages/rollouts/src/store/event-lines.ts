import type { RolloutEvent } from "#core/protocol/rollouts.js";

/** The longest text of an episode that is searched, characters. */
const MAX_TEXT = 65_536;

/** Reads the lines of an episode. `sameAs` follows from the others. */
export function readEvents(lines: readonly string[]): RolloutEvent[] {
  const seen = new Map<string, number>();
  return lines.map((line, event) => {
    const read = JSON.parse(line) as Omit<RolloutEvent, "event" | "sameAs">;
    const call = read.request === null || read.type === "reset" ? "" : `${read.tool} ${JSON.stringify(read.request)}`;
    const sameAs = call === "" ? null : (seen.get(call) ?? null);
    if (sameAs === null && call !== "") seen.set(call, event);
    return { event, ...read, sameAs };
  });
}

/** The words of an episode: the strings of its requests, observations and errors. The same lines give the same text. */
export function textOf(lines: readonly string[]): string {
  let text = "";
  const walk = (value: unknown): void => {
    if (text.length >= MAX_TEXT) return;
    if (typeof value === "string") text += `${value.slice(0, MAX_TEXT)}\n`;
    else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) walk(inner);
  };
  for (const line of lines) {
    if (text.length >= MAX_TEXT) break;
    const { request, answer, error } = JSON.parse(line) as RolloutEvent;
    walk([request, answer?.observation, error?.message]);
  }
  return text;
}
