import { checker, isObject, sampleValue } from "openenv-ts/internal";
import type { JsonObject } from "openenv-ts/protocol";
import { ask } from "../declarations.js";
import { agents } from "./agents.js";
import type { RewardSubject } from "./checks.js";
import {
  type Case,
  meanTotal,
  play,
  playEach,
  repeat,
  reset,
  rewardOf,
  type StudiedEpisode,
  type World,
} from "./world.js";

/** Values by their path; the indexes of arrays are left out, so that paths of several tasks are the same. */
type Leaves = [path: string, value: unknown][];

/** Below this length, a match in one task may be a coincidence. */
const DISTINCT = 4;
/** The number of different answers with which short ones that all match are no coincidence. */
const ENOUGH = 3;

export function leakage({ world, solved }: RewardSubject, logs: () => Promise<string>): checker.CheckDefinition {
  return {
    id: "no_solution_leakage",
    description: "nothing that an agent can read before the end contains the answer",
    remedy:
      "Keep the answer out of the named field until the episode is done, or declare in `varies` that it is meant to be there.",
    run: async (note) => {
      const best = await solved();
      const { ignore } = world.declared;
      const studied: { one: Case; answers: Leaves; seen: Leaves }[] = [];
      for (const episode of best) {
        const answers = leavesOf(paidAction(episode));
        studied.push({ one: episode.case, answers, seen: await look(world, episode.case) });
      }
      const text = await logs();
      for (const { seen } of studied) if (text !== "") seen.push(["logs", text]);
      for (const path of new Set(studied.flatMap(({ answers }) => answers.map(([name]) => name)))) {
        const golds = studied.map(({ answers }) => answers.find(([name]) => name === path)?.[1]);
        const found = findLeak(
          golds,
          studied.map(({ seen }) => seen.filter(([at]) => !ignore.includes(at))),
        );
        if (found === undefined) continue;
        const { name } = (studied[found.nth] as { one: Case }).one;
        const answer = checker.show(golds[found.nth]);
        checker.demand(false, `${found.at} ${found.how} the answer ${path} = ${answer} of ${name}`, {
          actual: { place: found.at, answer: golds[found.nth] },
        });
      }
      await demandSecretDefault(world, best);
      const places = new Set(studied.flatMap(({ seen }) => seen.map(([at]) => at)));
      note({ actual: { places: places.size, tasks: studied.length } });
    },
  };
}

/** The action with the highest reward, which holds the answer. */
function paidAction({ steps }: StudiedEpisode): JsonObject {
  let best = steps.at(-1);
  for (const step of steps) if (best && rewardOf(step) > rewardOf(best)) best = step;
  return best?.request ?? {};
}

/** What agents that do not know the answer read: the task, the reset, states, errors, and observations before the end. */
async function look(world: World, one: Case): Promise<Leaves> {
  const seen: Leaves = leavesOf(one.listed ?? {}, "task");
  for (const name of ["random", "empty"]) {
    const choose = agents(world)[name] as NonNullable<ReturnType<typeof agents>[string]>;
    const { reset: start, steps, refused, state, done } = await play(world, one, choose());
    if (!done) seen.push(...leavesOf(state, "state"));
    for (const { data } of [start, ...steps])
      if (data["done"] !== true) seen.push(...leavesOf(withoutDone(data), "observation"));
    for (const { data } of refused) seen.push(...leavesOf(data, "error"));
  }
  const session = await world.session(world.url);
  await reset(world, one, session);
  seen.push(...leavesOf((await session.ask("state")).data, "state"));
  seen.push(...leavesOf((await session.ask("step", { "no such field": true })).data, "error"));
  return seen;
}

function withoutDone({ observation, metadata }: JsonObject): JsonObject {
  return { ...(isObject(observation) ? observation : {}), ...(isObject(metadata) && { metadata }) };
}

interface Leak {
  at: string;
  how: "contains" | "has the length of";
  nth: number;
}

function findLeak(golds: readonly unknown[], seen: readonly Leaves[]): Leak | undefined {
  const known = golds.map((gold) => normal(gold));
  const distinct = new Set(known.filter((gold) => gold !== "")).size;
  // An answer that all tasks share is no secret of one of them.
  if (distinct < 2) return undefined;
  for (const how of ["contains", "has the length of"] as const) {
    const fits = how === "contains" ? contains : hasLength;
    for (const at of new Set(seen.flatMap((leaves) => leaves.map(([path]) => path)))) {
      const shows = (gold: string, nth: number): boolean =>
        gold !== "" && (seen[nth] ?? []).some(([path, value]) => path === at && fits(value, gold));
      const hits = known.map(shows);
      if (distinct >= ENOUGH && hits.every(Boolean)) return { at, how, nth: 0 };
      const nth = hits.findIndex((hit, index) => {
        const gold = known[index] as string;
        const isShared = known.some((other, task) => other !== gold && shows(gold, task));
        return hit && how === "contains" && gold.length >= DISTINCT && Number.isNaN(Number(gold)) && !isShared;
      });
      if (nth >= 0) return { at, how, nth };
    }
  }
  return undefined;
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
