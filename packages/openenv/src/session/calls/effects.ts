import type { RecordEffect } from "../../contract/tools/tools.js";
import { type RngState, randomSeed, rng, type SeededRng } from "../../util/rng.js";
import { snapshot } from "../../util/snapshot.js";
import type { MaybePromise } from "../../util/types.js";
import { toJsonSafe } from "../../validation/json-safe.js";
import { packError, unpackError } from "../packed-error.js";
import type { Recorded, RecordedEffect, SessionImage } from "./session-event.js";

/** The session of an event. */
export interface EffectSource {
  readonly id: string;
  readonly rng: SeededRng;
  rngState: SessionImage["rng"];
  /** Set while an event is replayed: what it got when it was recorded. */
  readonly replayed: Recorded | undefined;
}

/** The effects of an event so far, for and from an isolate. Plain data. */
export interface EffectsState {
  id: string;
  event: number;
  rng: SessionImage["rng"];
  recorded: Recorded;
  replayed: Recorded | undefined;
}

/** The random numbers of an episode. */
export class EpisodeRandom {
  #seed: number | undefined;
  #rng: SeededRng | undefined;

  /** The seed of the reset, or a random one. */
  get seed(): number {
    return (this.#seed ??= randomSeed());
  }

  get rng(): SeededRng {
    return (this.#rng ??= rng(this.seed));
  }

  /** The place in the random numbers; `state` is null until they are used. */
  get rngState(): SessionImage["rng"] {
    return { seed: this.seed, state: this.#rng?.state ?? null };
  }

  set rngState({ seed, state }: { seed: number | undefined; state: RngState | null }) {
    this.#seed = seed;
    this.#rng = state === null ? undefined : rng(state);
  }
}

/** The session of an event, in an isolate. */
export class ContinuedSource extends EpisodeRandom implements EffectSource {
  readonly id: string;
  readonly replayed: Recorded | undefined;

  constructor({ id, rng: place, replayed }: EffectsState) {
    super();
    this.id = id;
    this.replayed = replayed;
    this.rngState = place;
  }
}

/** What the environment gets from outside during one event: the members of its context, and their record. */
export class Effects {
  #recorded: Recorded;
  readonly #source: EffectSource;
  readonly #event: number;

  constructor(source: EffectSource, event: number, recorded: Recorded = {}) {
    this.#source = source;
    this.#event = event;
    this.#recorded = recorded;
  }

  get recorded(): Recorded {
    return this.#recorded;
  }

  /** The state for an isolate, which continues the event, and back. */
  get state(): EffectsState {
    const { id, rngState, replayed } = this.#source;
    return { id, event: this.#event, rng: rngState, recorded: this.#recorded, replayed };
  }

  set state({ rng, recorded }: Pick<EffectsState, "rng" | "recorded">) {
    this.#source.rngState = rng;
    this.#recorded = recorded;
  }

  get rng(): SeededRng {
    return this.#source.rng;
  }

  /** The members are functions without `this`, because authors destructure the context. */
  readonly now = (): number => {
    const times = (this.#recorded.times ??= []);
    const { replayed } = this.#source;
    const time = replayed === undefined ? monotonicNow() : replayed.times?.[times.length];
    if (time === undefined) throw new Error("the replay called now() more often than the recorded event");
    times.push(time);
    return time;
  };

  readonly record: RecordEffect = async <T>(name: string, effect: (key: string) => MaybePromise<T>): Promise<T> => {
    const effects = (this.#recorded.effects ??= []);
    const isNamed = (one: RecordedEffect): boolean => one.name === name;
    const nth = effects.filter(isNamed).length;
    // The place is that of the call, in whatever order effects settle.
    const index = effects.push({ name, error: NOT_AWAITED }) - 1;
    const { id, replayed } = this.#source;
    const key = `${id}/${this.#event}/${name}${nth > 0 ? `/${nth + 1}` : ""}`;
    const found = replayed?.effects?.filter(isNamed)[nth];
    if (replayed !== undefined && found === undefined) {
      throw new Error(`the replay called record("${name}"), which the recorded event did not`);
    }
    const settled = found ?? (await settle(name, () => effect(key)));
    // The caller may change its result.
    effects[index] = snapshot(settled);
    if ("error" in settled) throw unpackError(settled.error);
    return settled.value as T;
  };
}

const NOT_AWAITED = { thrown: "the call ended before record() had settled" };

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
