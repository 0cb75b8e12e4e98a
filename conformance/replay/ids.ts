const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Maps recorded ids to the ids of this run. */
export class Ids {
  readonly #now = new Map<string, string>();

  set(recorded: string, now: string): void {
    this.#now.set(recorded, now);
  }

  /** Returns the value with every known recorded id replaced. */
  apply<T>(value: T): T {
    if (this.#now.size === 0 || value === undefined) return value;
    let text = JSON.stringify(value);
    for (const [recorded, now] of this.#now) text = text.replaceAll(recorded, now);
    return JSON.parse(text) as T;
  }

  /** The value with every id of now replaced by the recorded one. */
  reverse<T>(value: T): T {
    let text = JSON.stringify(value);
    for (const [recorded, now] of this.#now) text = text.replaceAll(now, recorded);
    return JSON.parse(text) as T;
  }

  /** Takes up the session ids of an answer that are new in the recorded one, which has the same shape. */
  learn(recorded: unknown, now: unknown): void {
    if (typeof recorded !== "object" || typeof now !== "object" || recorded === null || now === null) return;
    for (const [key, value] of Object.entries(recorded)) {
      const found = (now as Record<string, unknown>)[key];
      if (key !== "session_id") this.learn(value, found);
      else if (UUID.test(String(found)) && !this.#now.has(String(value))) this.set(String(value), String(found));
    }
  }
}
