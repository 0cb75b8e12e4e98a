import { Database, type Result } from "./database.js";
import type { Value } from "./families.js";
import { QueryError } from "./guard.js";
import { familyOf, type SqlTask } from "./tasks.js";

/** No gold query has more rows. */
const MOST_ROWS = 200;
const MOST_TRIES = 200;
/** Seeds of the databases of one task. */
const SEEDS_OF_A_TASK = 1_000;

export type Verdict = "right" | "hard-coded" | "columns" | "count" | "values" | "order";

/** The seeds of the database of a session, and of the one that finds hard-coded answers. */
export type Seeds = readonly [seen: number, hidden: number];

const chosen = new Map<string, Seeds>();

/**
 * Chooses databases on which a wrong query shows: the gold query has rows, the broken one has others, and the rows of one
 * database are not right on the other.
 */
export function chooseSeeds(task: SqlTask): Seeds {
  const known = chosen.get(task.id);
  if (known !== undefined) return known;
  const seeds: number[] = [];
  let first: Result | undefined;
  for (let tried = 0; seeds.length < 2; tried++) {
    if (tried === MOST_TRIES) throw new Error(`task ${task.id} has no databases that show a wrong query`);
    const seed = task.seed * SEEDS_OF_A_TASK + tried;
    const [gold, broken] = withDatabase(task, seed, (database) =>
      [task.gold, task.fault].map((sql) => database.run(sql, MOST_ROWS)),
    ) as [Result, Result];
    const isNew = first === undefined || !isSame(task, first, gold);
    if (gold.rows.length === 0 || isSame(task, gold, broken) || !isNew) continue;
    first ??= gold;
    seeds.push(seed);
  }
  const found = seeds as unknown as Seeds;
  chosen.set(task.id, found);
  return found;
}

/**
 * Compares the rows of a query with those of the gold query, on both databases of a task.
 * @throws QueryError when it does not run on the database that the agent sees
 */
export function judge(task: SqlTask, sql: string): Verdict {
  const [seen, hidden] = chooseSeeds(task);
  const first = judgeOn(task, seen, sql);
  if (first !== "right") return first;
  try {
    return judgeOn(task, hidden, sql) === "right" ? "right" : "hard-coded";
  } catch (error) {
    // Its message could show rows that the agent must not see.
    if (error instanceof QueryError) return "hard-coded";
    throw error;
  }
}

function judgeOn(task: SqlTask, seed: number, sql: string): Verdict {
  return withDatabase(task, seed, (database) => {
    const given = database.run(sql, MOST_ROWS);
    const gold = database.run(task.gold, MOST_ROWS);
    if (given.columns.length !== gold.columns.length) return "columns";
    if (given.more || given.rows.length !== gold.rows.length) return "count";
    if (isSame(task, given, gold)) return "right";
    return task.ordered && isSame({ ordered: false }, given, gold) ? "order" : "values";
  });
}

/** Compares the rows of two results: how often each comes, and their order if that matters. */
function isSame({ ordered }: Pick<SqlTask, "ordered">, one: Result, other: Result): boolean {
  const [a, b] = [one, other].map(({ rows, more }) => {
    const lines = rows.map((row) => JSON.stringify(row.map(simplify)));
    return JSON.stringify([more, ordered ? lines : lines.sort()]);
  });
  return a === b;
}

/** 2 and 2.0 are equal, and so are sums of fractions in another order. */
function simplify(value: Value): Value {
  return typeof value === "number" ? Number(value.toPrecision(9)) : value;
}

function withDatabase<T>(task: SqlTask, seed: number, use: (database: Database) => T): T {
  const database = new Database(familyOf(task), seed);
  try {
    return use(database);
  } finally {
    database.close();
  }
}
