import { stringifyJson } from "#core/protocol/codec/json.js";
import type { SessionEvent } from "#core/session/calls/session-event.js";
import { EVENT, EVENT_NAME } from "./journal-cells.js";
import type { JournalWriter } from "./journal-writer.js";

/** The cells with the events of the episode, of each session in a batch by its prefix. */
export class EventCells {
  readonly #writer: JournalWriter;
  readonly #names = new Map<string, string[]>();

  constructor(writer: JournalWriter) {
    this.#writer = writer;
  }

  /** A cell that is stored, which may have an event. */
  know(cell: string): void {
    const [, prefix, event] = EVENT_NAME.exec(cell) ?? [];
    if (event !== undefined && prefix !== undefined) this.#of(prefix).push(cell);
  }

  put(event: SessionEvent, prefix: string): void {
    const name = prefix + EVENT + event.event;
    this.#writer.put(name, Buffer.from(stringifyJson(event)));
    this.#of(prefix).push(name);
  }

  drop(prefix: string): void {
    for (const name of this.#of(prefix)) this.#writer.remove(name);
    this.#names.delete(prefix);
  }

  #of(prefix: string): string[] {
    const names = this.#names.get(prefix) ?? [];
    this.#names.set(prefix, names);
    return names;
  }
}
