import type { RolloutDetail, RolloutEvent } from "openenv-ts/protocol";
import { ask, isRefusal } from "../../../server/get.js";
import { isOver } from "../outcome.js";

/** What is known of an episode. Immutable: every answer creates a new object. */
export interface RolloutState {
  /** Undefined before the first answer. */
  detail: Omit<RolloutDetail, "events"> | undefined;
  /** An event that is not loaded is undefined. */
  events: readonly (RolloutEvent | undefined)[];
  /** Why the last request failed, as a message. */
  problem: string | undefined;
  /** The token is missing, wrong, or without the right. */
  refused: boolean;
}

const PAGE = 200;
/** An episode that runs is read again at this interval. */
const EVERY_MS = 2000;

/** Reads an episode of the archive, in pages around the events that are shown. */
export class Rollout {
  readonly id: string;
  #state: RolloutState = { detail: undefined, events: [], problem: undefined, refused: false };
  #pages = new Map<number, Promise<void>>();
  #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #signal: AbortSignal | undefined;
  #isGrowing = false;
  /** The events that were asked for last. */
  #wanted: [from: number, to: number] = [0, 0];

  constructor(id: string, signal?: AbortSignal) {
    this.id = id;
    this.#signal = signal;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(this.#grow, EVERY_MS);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  };

  readonly snapshot = (): RolloutState => this.#state;

  /** Loads the events from one number to another, unless they are there or on the way. */
  async need(from: number, to: number): Promise<void> {
    this.#wanted = [from, to];
    const wanted: Promise<void>[] = [];
    for (let page = Math.floor(from / PAGE); page <= Math.floor(to / PAGE); page++) {
      const asked = this.#pages.get(page) ?? this.#read(page * PAGE);
      this.#pages.set(page, asked);
      wanted.push(asked);
    }
    await Promise.all(wanted);
  }

  /** Loads all events, at most this many, and returns those before the first failure. */
  async first(most: number): Promise<RolloutEvent[]> {
    await this.need(0, 0);
    const hasMore = (from: number): boolean => from < Math.min(most, this.#state.events.length);
    for (let from = PAGE; hasMore(from) && this.#state.problem === undefined; from += PAGE) await this.need(from, from);
    const end = this.#state.events.slice(0, most).indexOf(undefined);
    return this.#state.events.slice(0, end < 0 ? most : end) as RolloutEvent[];
  }

  /** Forgets a failed request, and sends it again. */
  retry(): void {
    this.#pages.clear();
    this.#set({ problem: undefined, refused: false });
    void this.need(...this.#wanted);
  }

  /** Reads what an episode that runs got since. */
  readonly #grow = async (): Promise<void> => {
    const { detail } = this.#state;
    if (document.hidden || this.#isGrowing || !detail || isOver(detail.episode)) return;
    this.#isGrowing = true;
    await this.#read(this.#state.events.length);
    this.#isGrowing = false;
  };

  async #read(from: number): Promise<void> {
    try {
      const query = new URLSearchParams({ from: String(from), limit: String(PAGE) });
      const path = `/rollouts/${encodeURIComponent(this.id)}?${query}`;
      const answer = await ask<RolloutDetail>(path, this.#signal && { signal: this.#signal });
      const { events: read, ...detail } = answer;
      const events = this.#state.events.slice();
      while (events.length < detail.eventCount) events.push(undefined);
      for (const event of read) events[event.event] = event;
      this.#set({ detail, events, problem: undefined, refused: false });
    } catch (error) {
      this.#pages.delete(from / PAGE);
      this.#set({ problem: (error as Error).message, refused: isRefusal(error) });
    }
  }

  #set(change: Partial<RolloutState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
