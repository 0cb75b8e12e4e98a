import { setTimeout as sleep } from "node:timers/promises";
import { checker, loadRecorder, parseAddress } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import type { Oracle } from "./oracle.js";

type Opener = Awaited<ReturnType<typeof loadRecorder>>["openRecorder"];
type WireSession = Awaited<ReturnType<Opener>>;
export type WireCall = Awaited<ReturnType<WireSession["ask"]>>;

/** A task, or a seed of an environment without tasks. */
export interface Case {
  /** Such as `task 3 of split train`, or `seed 7`. */
  name: string;
  /** What the oracle gets: the task with its split and index, or the seed. */
  task: JsonObject;
  /** The task as the Task API lists it. */
  listed?: JsonObject;
  reset: JsonObject;
}

export interface StudiedEpisode {
  case: Case;
  reset: WireCall;
  /** The steps that have an observation. */
  steps: WireCall[];
  /** The actions that were answered with an error. */
  refused: WireCall[];
  /** The state after the last step. */
  state: JsonObject;
  /** The sum of all rewards. */
  total: number;
  done: boolean;
}

/** What is declared about the environment; a URL alone declares nothing. */
interface Declarations {
  range: readonly [number, number] | undefined;
  tolerance: number;
  margin: number;
  /** The largest accepted difference between the rewards of equal episodes. */
  variance: number;
  /** The number of replays that measure the variance. */
  replays: number;
  seeded: boolean | undefined;
  /** Paths that differ by nature. */
  ignore: readonly string[];
}

/** A running environment, and all that the semantic checks know of it. */
export interface World {
  url: string;
  /** A second server of the same package. */
  other: string | undefined;
  declared: Declarations;
  /** JSON Schema of an action, calls of tools included. */
  offered: JsonObject;
  accepts(action: JsonObject): boolean;
  /** The fields that the contract declares for a reset. */
  options: JsonObject;
  cases: readonly Case[];
  oracle: Oracle | undefined;
  /** The episode that is repeated without an oracle. */
  plan: { one: Case; actions: readonly JsonObject[] };
  /** The caller asked for the semantic level: what is unknown without an oracle is reported as unknown. */
  isRequested: boolean;
  /** A session that is open until it fails, or the end; further ones with another `key`. */
  session(url: string, key?: string): Promise<WireSession>;
  /** All episodes so far. */
  played: StudiedEpisode[];
}

type PlayContext = Pick<World, "url" | "options" | "session" | "played">;

/** The action of a turn, after `step` others; undefined ends the episode. */
export type Choose = (turn: {
  step: number;
  last: WireCall;
  state(): Promise<JsonObject>;
}) => JsonObject | undefined | Promise<JsonObject | undefined>;

/** The time that a slot may take to become free after its session was closed. */
const PATIENCE_MS = 10_000;

type SessionOptions = Parameters<Opener>[1] & { signal: AbortSignal | undefined };

/** Opens sessions and keeps them until they fail, or `close`. After the signal, each request throws its reason. */
export function openSessions(options: SessionOptions) {
  const opened = new Map<string, Promise<WireSession>>();
  const start = async (url: string, name: string): Promise<WireSession> => {
    let session: WireSession | undefined;
    const use = async <T>(request: () => Promise<T>): Promise<T> => {
      try {
        options.signal?.throwIfAborted();
        return await request();
      } catch (error) {
        opened.delete(name);
        session?.close();
        throw error;
      }
    };
    const recorder = await use(() => open(url, options));
    session = recorder;
    return { ...recorder, ask: (...request) => use(() => recorder.ask(...request)) };
  };
  return {
    session: (url: string, key = ""): Promise<WireSession> => {
      const name = `${key} ${url}`;
      const known = opened.get(name) ?? start(url, name);
      opened.set(name, known);
      return known;
    },
    close: async (): Promise<void> => {
      for (const session of opened.values()) (await session.catch(() => undefined))?.close();
    },
  };
}

async function open(url: string, options: SessionOptions): Promise<WireSession> {
  const { openRecorder } = await loadRecorder();
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(50, undefined, options)) {
    const recorder = await openRecorder(parseAddress(url), options);
    const { failed, data } = await recorder.ask("state");
    if (!failed || data["code"] !== "CAPACITY_REACHED") return recorder;
    recorder.close();
    if (Date.now() > deadline) throw new checker.CheckBroken(`${url} has no free session: ${String(data["message"])}`);
  }
}

export async function reset({ options }: PlayContext, one: Case, session: WireSession): Promise<WireCall> {
  return await session.ask("reset", { ...options, ...one.reset });
}

/** Plays an episode. @throws CheckFailure when the reset fails. */
export async function play(world: PlayContext, one: Case, choose: Choose, at = world.url): Promise<StudiedEpisode> {
  const session = await world.session(at);
  const state = async (): Promise<JsonObject> => (await session.ask("state")).data;
  const start = await reset(world, one, session);
  checker.demand(!start.failed, `the reset with ${one.name} failed with ${errorOf(start)}`);
  const [steps, refused]: [WireCall[], WireCall[]] = [[], []];
  let last = start;
  for (let step = 0; last.data["done"] !== true; step++) {
    const action = await choose({ step, last, state });
    if (action === undefined) break;
    const call = await session.ask("step", action);
    (call.failed ? refused : steps).push(call);
    if (!call.failed) last = call;
  }
  const total = [start, ...steps].reduce((sum, call) => sum + rewardOf(call), 0);
  const done = last.data["done"] === true;
  const episode = { case: one, reset: start, steps, refused, state: await state(), total, done };
  world.played.push(episode);
  return episode;
}

/** Plays an episode of each case. */
export async function playEach(
  world: PlayContext,
  cases: readonly Case[],
  choose: (one: Case) => Choose,
): Promise<StudiedEpisode[]> {
  const episodes: StudiedEpisode[] = [];
  for (const one of cases) episodes.push(await play(world, one, choose(one)));
  return episodes;
}

export function rewardOf({ data: { reward } }: WireCall): number {
  return typeof reward === "number" ? reward : 0;
}

export function errorOf({ data }: WireCall): string {
  return `${String(data["code"])}: ${String(data["message"])}`;
}

/** The actions of an episode again, in the same order. */
export function repeat(actions: readonly JsonObject[]): Choose {
  return ({ step }) => actions[step];
}

export function actionsOf({ steps }: StudiedEpisode): JsonObject[] {
  return steps.map(({ request }) => request);
}

/** The action with the highest reward, which holds the answer. */
export function paidAction({ steps }: StudiedEpisode): JsonObject {
  let best = steps.at(-1);
  for (const step of steps) if (best && rewardOf(step) > rewardOf(best)) best = step;
  return best?.request ?? {};
}

export function meanTotal(episodes: readonly StudiedEpisode[]): number {
  return episodes.reduce((sum, { total }) => sum + total, 0) / Math.max(1, episodes.length);
}
