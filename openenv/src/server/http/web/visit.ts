import { stringifyJson } from "../../../protocol/json.js";
import type { JsonObject, ObservationData } from "../../../protocol/messages.js";
import { snapshot } from "../../../util/snapshot.js";

/** Steps of an episode that are kept. */
const MAX_LOGS = 100;

/** One step as `/ws/ui` tells it. */
interface ActionLog {
  timestamp: string;
  action: JsonObject;
  observation: JsonObject;
  reward: number | boolean | null;
  done: boolean;
  step_count: number;
}

/** Whoever is told of every change. */
export interface Watcher {
  tell(text: string): void;
  end(reason: string): void;
}

/** The episode of one visitor, as the pages that watch it see it. */
export class Visit {
  readonly #watchers = new Set<Watcher>();
  #episodeId: string | null = null;
  #observation: JsonObject | null = null;
  #logs: ActionLog[] = [];
  #steps = 0;

  get watchers(): number {
    return this.#watchers.size;
  }

  began(episodeId: string | null, { observation }: ObservationData): void {
    this.#episodeId = episodeId;
    this.#observation = snapshot(observation);
    this.#logs = [];
    this.#steps = 0;
    this.#tell();
  }

  stepped(action: JsonObject, { observation, reward, done }: ObservationData): void {
    const kept = snapshot(observation);
    this.#observation = kept;
    const timestamp = new Date().toISOString();
    this.#logs.push({ timestamp, action, observation: kept, reward, done, step_count: ++this.#steps });
    if (this.#logs.length > MAX_LOGS) this.#logs.shift();
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
    return stringifyJson({
      type: "state_update",
      episode_state: {
        episode_id: this.#episodeId,
        step_count: this.#steps,
        current_observation: this.#observation,
        action_logs: this.#logs,
        is_reset: this.#steps === 0,
      },
    });
  }
}
