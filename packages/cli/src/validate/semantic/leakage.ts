import { checker, isObject, sampleValue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { ask } from "../declarations.js";
import { agents, rewriteStrings, unique } from "./agents.js";
import type { RewardSubject } from "./checks.js";
import {
  actionsOf,
  type Case,
  meanTotal,
  paidAction,
  play,
  playEach,
  repeat,
  reset,
  type StudiedEpisode,
  type World,
} from "./world.js";

/** Values by their path; the indexes of arrays are left out, so that paths of several tasks are the same. */
type Leaves = [path: string, value: unknown][];

/** Below this length, a match in one task may be a coincidence. */
const DISTINCT = 4;
/** The number of different answers with which short ones that all match are no coincidence. */
const ENOUGH = 3;
/** Sent in an action, to find out whether the log repeats actions. */
const MARK = "openenv-leakage-mark";
const MARKED = 32;

export function leakage({ world, solved }: RewardSubject, logs: () => Promise<string>): checker.CheckDefinition {
  return {
    id: "no_solution_leakage",
    description: "nothing that an agent can read before the end contains the answer",
    remedy:
      "Keep the answer out of the named field until the episode is done, or declare in `varies` that it is meant to be there.",
    run: async (note) => {
      const best = await solved();
      await demandSecretDefault(world, best);
      const views: View[] = [];
      for (const episode of best.slice(0, 1)) await sendMark(world, episode);
      const text = [await logs()];
      for (const { case: one } of best) {
        views.push(await look(world, one));
        text.push(await logs());
      }
      const { ignore } = world.declared;
      const shown = (leaves: Leaves): Leaves => leaves.filter(([at]) => !ignore.includes(at));
      const paid = best.map((episode) => leavesOf(paidAction(episode)));
      const all = best.map((episode) => actionsOf(episode).flatMap((action) => leavesOf(action)));
      // A choice that the schema names is known to each agent.
      const offered = JSON.stringify(world.offered);
      const isChoice = (value: unknown): boolean =>
        typeof value === "string" && offered.includes(JSON.stringify(value));
      const secret = all.map((leaves) => leaves.filter(([, value]) => !isChoice(value)));
      const unnamed = secret.map((leaves, nth) =>
        leaves.filter(([, value]) => !isName((views[nth] as View).first, leaves, value)),
      );
      const leaks = [
        ...findLeaks(
          paid,
          views.map(({ first, later }) => shown([...first, ...later])),
        ),
        // What an agent finds out by its actions may be what it has to do next.
        ...findLeaks(
          unnamed,
          views.map(({ first }) => shown(first)),
        ),
        ...(ignore.includes("logs") ? [] : findLogged(secret, text.join("\n"))),
      ];
      for (const leak of leaks) {
        const episode = best[leak.nth] as StudiedEpisode;
        if (!(await isNeeded(world, episode, leak))) continue;
        const answer = `${leak.path} = ${checker.show(leak.gold)} of ${episode.case.name}`;
        checker.demand(false, `${leak.at} ${leak.how} the answer ${answer}`, {
          actual: { place: leak.at, answer: leak.gold },
        });
      }
      const isUnknown = pathsOf(all).every((path) => distinguish(all, path).every(({ size }) => size === 0));
      if (isUnknown)
        throw new checker.CheckSkip("the oracle acts the same in all tasks, so what an agent must not read is unknown");
      const places = new Set(views.flatMap(({ first, later }) => [...first, ...later].map(([at]) => at)));
      note({ actual: { places: places.size, tasks: best.length } });
    },
  };
}

/** Returns true if the episode earns less without the actions that hold the answer. Others only look something up. */
async function isNeeded(world: World, episode: StudiedEpisode, { path, gold }: Leak): Promise<boolean> {
  const holds = (action: JsonObject): boolean => leavesOf(action).some(([at, value]) => at === path && value === gold);
  const others = actionsOf(episode).filter((action) => !holds(action));
  const { total } = await play(world, episode.case, repeat(others));
  return total < episode.total - world.declared.variance - 1e-9;
}

/** What an agent that does not know the answer reads, before its first action and later, until the end. */
interface View {
  first: Leaves;
  later: Leaves;
}

async function look(world: World, one: Case): Promise<View> {
  const session = await world.session(world.url);
  const { data } = await reset(world, one, session);
  const first = [...leavesOf(one.listed ?? {}, "task"), ...leavesOf(withoutDone(data), "observation")];
  first.push(...leavesOf((await session.ask("state")).data, "state"));
  first.push(...leavesOf((await session.ask("step", { "no such field": true })).data, "error"));
  const later: Leaves = [];
  for (const name of ["random", "empty"]) {
    const choose = agents(world)[name] as NonNullable<ReturnType<typeof agents>[string]>;
    const { steps, refused, state, done } = await play(world, one, choose());
    if (!done) later.push(...leavesOf(state, "state"));
    for (const { data } of steps) if (data["done"] !== true) later.push(...leavesOf(withoutDone(data), "observation"));
    for (const { data } of refused) later.push(...leavesOf(data, "error"));
  }
  return { first, later };
}

/** Plays actions of the oracle with the mark instead of their texts. */
async function sendMark(world: World, solved: StudiedEpisode): Promise<void> {
  const session = await world.session(world.url);
  const marked = actionsOf(solved).map((action) => rewriteStrings(action, MARK, world.accepts));
  for (const action of unique(marked).slice(0, MARKED)) {
    await reset(world, solved.case, session);
    await session.ask("step", action);
  }
}

function withoutDone({ observation, metadata }: JsonObject): JsonObject {
  return { ...(isObject(observation) ? observation : {}), ...(isObject(metadata) && { metadata }) };
}

interface Leak {
  at: string;
  how: "contains" | "has the length of";
  nth: number;
  path: string;
  gold: unknown;
}

function pathsOf(answers: readonly Leaves[]): string[] {
  return [...new Set(answers.flatMap((leaves) => leaves.map(([path]) => path)))];
}

/** Values by their normal form. */
type Golds = Map<string, unknown>;

/** The values at the path in each task, without those that all tasks share, which are no secret of one of them. */
function distinguish(answers: readonly Leaves[], path: string): Golds[] {
  const golds = answers.map(
    (leaves) => new Map(leaves.flatMap(([at, value]) => (at === path ? [[normal(value), value]] : []))),
  );
  const isOwn = (gold: string): boolean => gold !== "" && golds.some((others) => !others.has(gold));
  return golds.map((values) => new Map([...values].filter(([gold]) => isOwn(gold))));
}

/** A value that is found in one task is no coincidence. */
function isDistinct(gold: string): boolean {
  return gold.length >= DISTINCT && Number.isNaN(Number(gold));
}

/** The places that show the answers, given by their path for each task. */
function findLeaks(answers: readonly Leaves[], seen: readonly Leaves[]): Leak[] {
  return pathsOf(answers).flatMap((path) => {
    const golds = distinguish(answers, path);
    return pathsOf(seen).flatMap((at) => {
      for (const how of ["contains", "has the length of"] as const) {
        const fits = how === "contains" ? contains : hasLength;
        const shows = (gold: string, nth: number): boolean =>
          (seen[nth] ?? []).some(([place, value]) => place === at && fits(value, gold));
        const nth = findTask(golds, shows, how === "contains");
        const [, gold] = [...(golds[nth] ?? [])].find(([one]) => shows(one, nth)) ?? [];
        if (nth >= 0) return [{ at, how, nth, path, gold }];
      }
      return [];
    });
  });
}

/** The first task whose answer is shown, or -1. */
function findTask(golds: Golds[], shows: (gold: string, nth: number) => boolean, isText: boolean): number {
  const all = [...new Set(golds.flatMap((values) => [...values.keys()]))];
  const known = golds.flatMap((values, nth) => (values.size > 0 ? [nth] : []));
  const showsOther = (gold: string, nth: number): boolean => !golds[nth]?.has(gold) && shows(gold, nth);
  if (
    all.length >= ENOUGH &&
    known.every((nth) => [...(golds[nth] as Golds).keys()].every((gold) => shows(gold, nth)))
  ) {
    // A place that shows all answers in each task, such as a list of choices, says nothing.
    if (!known.every((nth) => all.every((gold) => shows(gold, nth)))) return known[0] as number;
  }
  return golds.findIndex((values, nth) =>
    [...values.keys()].some(
      (gold) => isText && isDistinct(gold) && shows(gold, nth) && !known.some((task) => showsOther(gold, task)),
    ),
  );
}

/** Answers in the log, which is one text for all tasks. A log that repeats actions has those of the oracle. */
function findLogged(answers: readonly Leaves[], text: string): Leak[] {
  if (text.includes(MARK)) return [];
  return pathsOf(answers).flatMap((path) =>
    distinguish(answers, path).flatMap((values, nth) =>
      [...values]
        .filter(([gold]) => isDistinct(gold) && contains(text, gold))
        .map(([, gold]) => ({ at: "logs", how: "contains" as const, nth, path, gold })),
    ),
  );
}

/** Returns true if a list of the first view shows the value among others that are not in the answer, as a name. */
function isName(first: Leaves, answer: Leaves, value: unknown): boolean {
  const inAnswer = new Set(answer.map(([, one]) => one));
  const lists = first.filter(([, one]) => one === value).map(([at]) => at);
  return first.some(([at, one]) => lists.includes(at) && !inAnswer.has(one));
}

/** The answer in lower case, and without the brackets or marks around it. */
function normal(gold: unknown): string {
  if (typeof gold !== "string" && typeof gold !== "number") return "";
  return String(gold)
    .toLowerCase()
    .replace(/^[^\p{L}\p{N}-]+|[^\p{L}\p{N}]+$/gu, "");
}

function contains(value: unknown, gold: string): boolean {
  if (typeof value === "number") return String(value) === gold;
  if (typeof value !== "string") return false;
  const decoded = /^[\w+/-]{16,}={0,2}$/.test(value) ? Buffer.from(value, "base64").toString("latin1") : "";
  const escaped = gold.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, "iu").test(`${value} ${decoded}`);
}

function hasLength(value: unknown, gold: string): boolean {
  return typeof value === "string" && String(value.length) === gold;
}

/** The values of the schema with which forms and agents begin must not be the answer. */
async function demandSecretDefault(world: World, best: readonly StudiedEpisode[]): Promise<void> {
  const simplest = sampleValue(world.offered) as JsonObject;
  const earned = meanTotal(await playEach(world, world.cases, () => repeat([simplest])));
  const limit = meanTotal(best) - world.declared.margin;
  const { body } = await ask(`${world.url}/schema`);
  checker.demand(
    earned <= limit || !/"(?:default|examples)":/.test(JSON.stringify(isObject(body) ? body["action"] : {})),
    `the defaults and examples of the schema are the answer: ${checker.show(simplest)} earns ${earned}`,
  );
}

function leavesOf(value: unknown, path = ""): Leaves {
  if (typeof value !== "object" || value === null) return [[path, value]];
  // The length of a list can show the answer as well.
  const own: Leaves = Array.isArray(value) ? [[`${path}.length`, value.length]] : [];
  const next = (key: string): string => (Array.isArray(value) ? path : path === "" ? key : `${path}.${key}`);
  return [...own, ...Object.entries(value).flatMap(([key, member]) => leavesOf(member, next(key)))];
}
