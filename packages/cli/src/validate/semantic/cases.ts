import { checker, isObject } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { ask } from "../declarations.js";
import { type Case, type Choose, errorOf, playEach, reset, type StudiedEpisode, type World } from "./world.js";

/** The Task API of a server. */
export interface Tasks {
  /** The number of tasks of each split. */
  counts: ReadonlyMap<string, number>;
  /** The task, or why it cannot be read. */
  get(split: string, index: number): Promise<JsonObject | string>;
  /** Resolves to true if all tasks from `start` to before `stop` can be read at once. */
  hasRange(split: string, start: number, stop: number): Promise<boolean>;
}

export const SEED = 7;
/** The number of seeds, or of tasks of a single split, whose episodes are studied. */
const STUDIED = 5;
/** The number of tasks that are read at once. */
const PAGE = 500;
/** The steps within which an oracle must end an episode. */
const MAX_STEPS = 1_000;
/** The most tasks that are started. */
const MAX_STARTED = 20_000;

/** Finds the Task API; undefined when the server has none. */
export async function findTasks(url: string, headers: Record<string, string>): Promise<Tasks | undefined> {
  const { body: names } = await ask(`${url}/list_environments`, undefined, headers);
  const prefix = `${url}/${encodeURIComponent(String(Array.isArray(names) ? names[0] : ""))}`;
  const { status, body: splits } = await ask(`${prefix}/splits`, undefined, headers);
  if (status !== 200 || !Array.isArray(splits)) return undefined;
  const counts = new Map<string, number>();
  for (const split of splits) {
    const name = String(isObject(split) ? split["name"] : split);
    const { body } = await ask(`${prefix}/num_tasks`, { split: name }, headers);
    const count = isObject(body) ? Number(body["num_tasks"]) : Number.NaN;
    if (Number.isInteger(count)) counts.set(name, count);
  }
  const get = async (split: string, index: number): Promise<JsonObject | string> => {
    const { status: code, body } = await ask(`${prefix}/task`, { split, index }, headers);
    const task = isObject(body) ? body["task"] : undefined;
    return isObject(task) ? task : `${code} ${checker.show(body)}`;
  };
  const hasRange = async (split: string, start: number, stop: number): Promise<boolean> => {
    const { body } = await ask(`${prefix}/task_range`, { split, start, stop }, headers);
    const list = isObject(body) ? body["tasks"] : undefined;
    return Array.isArray(list) && list.length === stop - start && list.every(isObject);
  };
  return { counts, get, hasRange };
}

/** Tasks of all splits, the first and the last included; seeds without tasks. */
export async function chooseCases(tasks: Tasks | undefined): Promise<Case[]> {
  const splits = [...(tasks?.counts ?? [])].filter(([, count]) => count > 0);
  if (tasks === undefined || splits.length === 0) {
    return Array.from({ length: STUDIED }, (_, nth) => seedCase(SEED + nth));
  }
  const each = Math.max(2, Math.ceil(STUDIED / splits.length));
  const places = splits.flatMap(([split, count]) => {
    const indexes = Array.from({ length: each }, (_, nth) => Math.round((nth * (count - 1)) / (each - 1)));
    return [...new Set(indexes)].map((index) => ({ split, index }));
  });
  return await Promise.all(
    places.map(async ({ split, index }) => {
      const listed = await tasks.get(split, index);
      const known = typeof listed === "string" ? {} : { listed };
      return { ...caseOf(split, index), task: { ...known.listed, split, index }, ...known };
    }),
  );
}

export function seedCase(seed: number): Case {
  return { name: `seed ${seed}`, task: { seed }, reset: { seed } };
}

function caseOf(split: string, index: number): Case {
  const place = { split, index };
  return { name: `task ${index} of split ${split}`, task: place, reset: { ...place, seed: SEED } };
}

/** Reads and starts every task of every split. */
export function tasksStart(world: World, tasks: Tasks | undefined): checker.CheckDefinition {
  return {
    id: "tasks_start",
    description: "every task of every split can be read and started",
    remedy: "Correct the named tasks, or remove them from their split.",
    run: async (note) => {
      if (tasks === undefined) throw new checker.NotApplicable("the server has no Task API");
      const problems: string[] = [];
      let started = 0;
      for (const [split, count] of tasks.counts) {
        let isListed = false;
        for (let index = 0; index < count && started < MAX_STARTED; index++, started++) {
          if (index % PAGE === 0) isListed = await tasks.hasRange(split, index, Math.min(index + PAGE, count));
          const one = caseOf(split, index);
          const problem = await tryTask(world, isListed ? undefined : tasks, one);
          if (problem !== undefined) problems.push(`${one.name} ${problem}`);
        }
      }
      const all = [...tasks.counts.values()].reduce((sum, count) => sum + count, 0);
      note({ actual: { tasks: all, started, failed: problems.length } });
      checker.demand(problems.length === 0, `${problems.length} of ${started}: ${problems.slice(0, 3).join("; ")}`);
    },
  };
}

/** `tasks` is given to read the task first. */
async function tryTask(world: World, tasks: Tasks | undefined, one: Case): Promise<string | undefined> {
  const listed = await tasks?.get(String(one.task["split"]), Number(one.task["index"]));
  if (typeof listed === "string") return `cannot be read: ${listed}`;
  const start = await reset(world, one, await world.session(world.url));
  if (start.failed) return `cannot be started: ${errorOf(start)}`;
  return start.data["done"] === true ? "is done after the reset" : undefined;
}

/** Plays the oracle once on each case. @throws CheckSkip without an oracle. */
export function oracleEpisodes(world: World): () => Promise<StudiedEpisode[]> {
  const choose = (one: Case): Choose => {
    return async ({ state, last, step }) => {
      const isLate = step === MAX_STEPS;
      if (isLate) throw new checker.CheckBroken(`the oracle did not end ${one.name} within ${MAX_STEPS} steps`);
      return await world.oracle?.act({ task: one.task, state: await state(), last: last.data });
    };
  };
  let episodes: Promise<StudiedEpisode[]> | undefined;
  return async () => {
    if (world.oracle === undefined) throw unknownReward(world);
    return await (episodes ??= playEach(world, world.cases, choose));
  };
}

/** The reason for skipping a check that needs an oracle. */
export function unknownReward({ isRequested }: World): checker.CheckSkip {
  const reason = "it is unknown without an oracle: declare validation.capabilities.oracle, or pass --oracle";
  return isRequested ? new checker.CheckSkip(reason) : new checker.NotApplicable(reason);
}
