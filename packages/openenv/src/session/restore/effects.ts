import type { RecordEffect } from "../../contract/tools/tools.js";
import type { SeededRng } from "../../util/rng.js";
import { snapshot } from "../../util/snapshot.js";
import type { MaybePromise } from "../../util/types.js";
import { toJsonSafe } from "../../validation/json-safe.js";
import { packError, unpackError } from "../isolation/messages.js";
import type { Recorded, RecordedEffect } from "./session-event.js";

/** The session of an event. */
export interface EffectSource {
  readonly id: string;
  readonly rng: SeededRng;
  /** Set while an event is replayed: what it got when it was recorded. */
  readonly replayed: Recorded | undefined;
}

/** What the environment gets from outside during one event: the members of its context, and their record. */
export class Effects {
  readonly recorded: Recorded = {};
  readonly #source: EffectSource;
  readonly #event: number;
  readonly #replayed: Recorded | undefined;
  readonly #counts = new Map<string, number>();
  #times = 0;

  constructor(source: EffectSource, event: number) {
    this.#source = source;
    this.#event = event;
    this.#replayed = source.replayed;
  }

  get rng(): SeededRng {
    return this.#source.rng;
  }

  /** The members are functions without `this`, because authors destructure the context. */
  readonly now = (): number => {
    const time = this.#replayed === undefined ? monotonicNow() : this.#replayed.times?.[this.#times++];
    if (time === undefined) throw new Error("the replay called now() more often than the recorded event");
    (this.recorded.times ??= []).push(time);
    return time;
  };

  readonly record: RecordEffect = async <T>(name: string, effect: (key: string) => MaybePromise<T>): Promise<T> => {
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    const key = `${this.#source.id}/${this.#event}/${name}${nth > 1 ? `/${nth}` : ""}`;
    const effects = (this.recorded.effects ??= []);
    const index = effects.length;
    // Keeps the order of the calls, in whatever order they settle.
    effects.push(UNSETTLED);
    const settled = this.#replayed === undefined ? await settle(name, () => effect(key)) : this.#find(name, nth);
    // The caller may change its result.
    effects[index] = snapshot(settled);
    if ("error" in settled) throw unpackError(settled.error);
    return settled.value as T;
  };

  #find(name: string, nth: number): RecordedEffect {
    const found = this.#replayed?.effects?.filter((effect) => effect.name === name)[nth - 1];
    if (found === undefined) throw new Error(`the replay called record("${name}"), which the recorded event did not`);
    return found;
  }
}

const UNSETTLED: RecordedEffect = { name: "", value: null };

async function settle(name: string, effect: () => MaybePromise<unknown>): Promise<RecordedEffect> {
  try {
    const value = await effect();
    if (value === undefined) return { name, value };
    return { name, value: toJsonSafe(value, `the result of record("${name}")`).value };
  } catch (error) {
    return { name, error: packError(error) };
  }
}

function monotonicNow(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}
