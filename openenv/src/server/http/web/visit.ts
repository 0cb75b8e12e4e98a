import { stringifyJson } from "../../../protocol/json.js";
import type { JsonObject, ObservationData } from "../../../protocol/messages.js";

/** Steps of an episode that are kept, and characters of all of them together. */
const MAX_LOGS = 100;
const MAX_CHARACTERS = 1024 * 1024;

/** Whoever is told of every change. */
export interface Watcher {
  tell(text: string): void;
  end(reason: string): void;
}

/** The episode of one visitor, as the pages that watch it see it. */
export class Visit {
  readonly #watchers = new Set<Watcher>();
  #episodeId: string | null = null;
  /** As they are written: an environment may go on to change what it has shown. */
  #observation = "null";
  #logs: string[] = [];
  #characters = 0;
  #steps = 0;

  get watchers(): number {
    return this.#watchers.size;
  }

  began(episodeId: string | null, { observation }: ObservationData): void {
    this.#episodeId = episodeId;
    this.#observation = stringifyJson(observation);
    this.#logs = [];
    this.#characters = 0;
    this.#steps = 0;
    this.#tell();
  }

  stepped(action: JsonObject, { observation, reward, done }: ObservationData): void {
    const log = { timestamp: new Date().toISOString(), action, observation, reward, done, step_count: ++this.#steps };
    const text = stringifyJson(log);
    this.#observation = stringifyJson(observation);
    this.#logs.push(text);
    this.#characters += text.length;
    while (this.#logs.length > MAX_LOGS || this.#characters > MAX_CHARACTERS) {
      this.#characters -= this.#logs.shift()?.length ?? 0;
    }
    this.#tell();
  }

  watch(watcher: Watcher): void {
    this.#watchers.add(watcher);
    watcher.tell(this.#render());
  }

  leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** The session has ended. */
  end(reason: string): void {
    for (const watcher of this.#watchers) watcher.end(reason);
    this.#watchers.clear();
  }

  #tell(): void {
    if (this.#watchers.size === 0) return;
    const text = this.#render();
    for (const watcher of this.#watchers) watcher.tell(text);
  }

  #render(): string {
    const state = [
      `"episode_id":${JSON.stringify(this.#episodeId)}`,
      `"step_count":${this.#steps}`,
      `"current_observation":${this.#observation}`,
      `"action_logs":[${this.#logs.join()}]`,
      `"is_reset":${this.#steps === 0}`,
    ];
    return `{"type":"state_update","episode_state":{${state.join()}}}`;
  }
}
