import { findDifference, isObject } from "openenv-ts/internal";

/** Characters of the messages and answers of one episode that are kept. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** The messages of an episode, which make the same episode again in another upstream. */
export class Episode {
  #calls: { text: string; answer: string }[] = [];
  #characters = 0;
  /** Why the episode cannot be made again. */
  #gap: string | undefined;

  begin(text: string, answer: string): void {
    this.#calls = [];
    this.#characters = 0;
    const { data } = JSON.parse(text) as { data?: unknown };
    const hasSeed = isObject(data) && typeof data["seed"] === "number";
    this.#gap = hasSeed ? undefined : "its reset had no seed";
    this.#keep(text, answer);
  }

  add(text: string, answer: string): void {
    if (this.#calls.length === 0) this.#gap ??= "it has not been reset";
    this.#keep(text, answer);
  }

  #keep(text: string, answer: string): void {
    if (this.#gap !== undefined) return;
    this.#characters += text.length + answer.length;
    this.#calls.push({ text, answer });
    if (this.#characters <= MAX_CHARACTERS) return;
    this.#gap = `its messages have more than ${MAX_CHARACTERS} characters`;
    this.#calls = [];
  }

  /** Makes the episode again, and compares each answer. Returns why that did not succeed. */
  async replay(ask: (text: string) => Promise<string>): Promise<string | undefined> {
    if (this.#gap !== undefined) return this.#gap;
    for (const [nth, { text, answer }] of this.#calls.entries()) {
      const again = await ask(text);
      if (again === answer) continue;
      const difference = describeDifference(JSON.parse(answer), JSON.parse(again));
      if (difference !== undefined) return `its call ${nth} has another answer now: ${difference}`;
    }
    return undefined;
  }
}

/** The first difference of two values as text; undefined when they are equal. */
export function describeDifference(before: unknown, now: unknown): string | undefined {
  const found = findDifference(before, now);
  return found && `${found.path || "the value"} was ${show(found.one)} and is ${show(found.other)}`;
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? "missing").slice(0, 100);
}
