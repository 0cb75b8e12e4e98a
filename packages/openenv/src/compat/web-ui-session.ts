import { stringifyJson } from "../protocol/codec/json.js";
import type { JsonObject, ObservationData } from "../protocol/messages.js";
import type { Session } from "../session/session.js";

/** The limits of the kept steps of an episode: their number, and their characters together. */
const MAX_LOGS = 100;
const MAX_CHARACTERS = 1024 * 1024;

/** A page that displays the episode. */
export interface Subscriber {
  send(update: string): void;
  close(reason: string): void;
}

/** The episode of `/web/reset` and `/web/step` in a session, in the form that pages at `/ws/ui` display. */
export class WebUiSession {
  readonly subscribers = new Set<Subscriber>();
  #episodeId: string | null = null;
  /** Stored as JSON, because an environment may change an object after it has returned it. */
  #observation = "null";
  #logs: string[] = [];
  #steps = 0;

  reset(episodeId: string | null, { observation }: ObservationData): void {
    this.#episodeId = episodeId;
    this.#observation = stringifyJson(observation);
    this.#logs = [];
    this.#steps = 0;
    this.#publish();
  }

  step(action: JsonObject, { observation, reward, done }: ObservationData): void {
    const log = { timestamp: new Date().toISOString(), action, observation, reward, done, step_count: ++this.#steps };
    this.#observation = stringifyJson(observation);
    this.#logs.push(stringifyJson(log));
    while (this.#logs.length > MAX_LOGS || countCharacters(this.#logs) > MAX_CHARACTERS) this.#logs.shift();
    this.#publish();
  }

  /** A session with an open page counts as in use. */
  get isWatching(): boolean {
    return this.subscribers.size > 0;
  }

  /** Closes the pages of a session that has ended. */
  ended(reason: string): void {
    for (const subscriber of this.subscribers) subscriber.close(reason);
  }

  /** Sends the episode now and after each change. */
  subscribe(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
    subscriber.send(this.#renderUpdate());
  }

  #publish(): void {
    if (this.subscribers.size === 0) return;
    const update = this.#renderUpdate();
    for (const subscriber of this.subscribers) subscriber.send(update);
  }

  #renderUpdate(): string {
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

function countCharacters(logs: readonly string[]): number {
  return logs.reduce((sum, log) => sum + log.length, 0);
}

const webUiSessions = new WeakMap<Session, WebUiSession>();

/** The episode of a session; created on the first call. */
export function webUiOf(session: Session): WebUiSession {
  const known = webUiSessions.get(session);
  if (known !== undefined) return known;
  const created = new WebUiSession();
  webUiSessions.set(session, created);
  session.observer = created;
  return created;
}
