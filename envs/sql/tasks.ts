import { readFileSync } from "node:fs";
import { createTasks, rng } from "openenv-ts";
import * as z from "zod";
import { type Family, families } from "./families.js";

const SqlTask = z.object({
  id: z.string(),
  kind: z.enum(["write", "fix"]),
  family: z.string().describe("The kind of database"),
  difficulty: z.int().min(1).max(3),
  question: z.string(),
  broken_query: z.string().nullable(),
  /** True if the rows must come in the order of the gold query. */
  ordered: z.boolean(),
  gold: z.string(),
  /** A common wrong answer, which the databases of the task have to expose. */
  fault: z.string(),
  seed: z.int(),
});
export type SqlTask = z.output<typeof SqlTask>;

/** `{name}` in its texts is a parameter, `{name.1}` the second part of one, `{fault}` is `right` or `wrong`. */
interface Template {
  family: string;
  difficulty: number;
  params: Record<string, (string | number | string[])[]>;
  question: string;
  sql: string;
  right: string;
  wrong: string;
  ordered: boolean;
}

const templates: Template[] = readFileSync(new URL("./data/templates.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

const taken = new Set<string>();
/** No query answers two tasks. */
export const lists = { test: draft("test", 40, 1_000_000), train: draft("train", 160, 2_000_000) };

/** Answers, and what the rows are made of, reach the environment only. */
export const tasks = createTasks(
  SqlTask,
  { train: lists.train, test: lists.test },
  { hidden: ["ordered", "gold", "fault", "seed"] },
);

/** @returns undefined unless the task exists. */
export function findTask(split: string, index: number): SqlTask | undefined {
  return Object.hasOwn(lists, split) ? lists[split as keyof typeof lists][index] : undefined;
}

export function familyOf({ family }: SqlTask): Family {
  return families.find(({ name }) => name === family) as Family;
}

function draft(split: string, count: number, firstSeed: number): SqlTask[] {
  const found: SqlTask[] = [];
  for (let seed = firstSeed; found.length < count; seed++) {
    const task = makeTask(templates[seed % templates.length] as Template, `${split}-${found.length}`, seed);
    if (taken.has(task.gold)) continue;
    taken.add(task.gold);
    found.push(task);
  }
  return found;
}

function makeTask(template: Template, id: string, seed: number): SqlTask {
  const { family, difficulty, params, question, sql, right, wrong, ordered } = template;
  const random = rng(seed);
  const kind = random.pick(["write", "fix"] as const);
  const drawn = Object.fromEntries(
    Object.entries(params).map(([name, values]) => [name, [random.pick(values)].flat()]),
  );
  const fill = (text: string, fault = ""): string =>
    text
      .replace("{fault}", fault)
      .replaceAll(/\{(\w+)(?:\.(\d))?\}/g, (_, name: string, part = "0") => String(drawn[name]?.[Number(part)]));
  const [gold, broken] = [fill(sql, right), fill(sql, wrong)];
  const order = ordered ? "The order of the rows counts." : "The order of the rows does not count.";
  const request =
    kind === "fix"
      ? "The broken query does not do this. Fix it."
      : "Write one SELECT statement of SQLite that returns these columns in this order.";
  return {
    ...{ id, kind, family, difficulty, ordered, gold, fault: broken, seed },
    question: `${fill(question)} ${order} ${request}`,
    broken_query: kind === "fix" ? broken : null,
  };
}
