import {
  type Action,
  type ActionInput,
  defineEnvironment,
  type Environment,
  type ObservationInput,
  type ResetRequest,
  type StateInput,
} from "openenv-ts";
import { Database } from "../database.js";
import type { Table } from "../families.js";
import { QueryError } from "../guard.js";
import { chooseSeeds, judge, type Verdict } from "../judge.js";
import { sqlContract } from "../models.js";
import { renderObservation } from "../render.js";
import { familyOf, findTask, lists, type SqlTask, tasks } from "../tasks.js";

type Seen = ObservationInput<typeof sqlContract>;
type News = Pick<Seen, "message"> & Partial<Seen>;

const STEPS = 40;
const SUBMISSIONS = 3;
const SHOWN_ROWS = 30;
const OVER = "The episode is over: reset to begin another.";

const VERDICTS: Record<Verdict, string> = {
  right: "Right.",
  columns: "Wrong: the result has another number of columns.",
  count: "Wrong: the result has another number of rows.",
  values: "Wrong: some rows have other values.",
  order: "Wrong: the rows are right, but not their order.",
  "hard-coded": "Wrong: the result is right for these rows, but not for others. The query must not contain the answer.",
};

/** What differs between two states of a session. */
interface Saved {
  task: string;
  stepsLeft: number;
  submissionsLeft: number;
  submitted: string | null;
  isSolved: boolean;
}

/** A session, after its first reset or its restore. */
class Play {
  readonly task: SqlTask;
  readonly database: Database;
  readonly saved: Saved;

  constructor(task: SqlTask, saved: Omit<Saved, "task"> = START) {
    this.task = task;
    this.saved = { ...saved, task: task.id };
    this.database = new Database(familyOf(task), chooseSeeds(task)[0]);
  }

  get isOver(): boolean {
    const { isSolved, submissionsLeft, stepsLeft } = this.saved;
    return isSolved || submissionsLeft === 0 || stepsLeft === 0;
  }
}

const START = { stepsLeft: STEPS, submissionsLeft: SUBMISSIONS, submitted: null, isSolved: false };

class SqlEnvironment implements Environment<typeof sqlContract> {
  #play: Play | undefined;

  reset({ rng, task: given }: ResetRequest<typeof sqlContract, SqlTask>) {
    const task = given ?? rng.pick(lists.train);
    this.close();
    const play = new Play(task);
    this.#play = play;
    const { question, broken_query } = task;
    const message = `The database is ready. Tables: ${familyOf(task)
      .tables.map(({ name }) => name)
      .join(", ")}.`;
    return answer(play, { question, broken_query, message }, 0);
  }

  step(action: Action<typeof sqlContract>) {
    const play = this.#current();
    if (play.isOver) return answer(play, { message: OVER }, 0);
    play.saved.stepsLeft--;
    try {
      const news = action.kind === "submit_query" ? submit(play, action.sql) : look(play, action);
      return answer(play, news, play.saved.isSolved ? 1 : 0);
    } catch (error) {
      // What an agent got wrong is an observation.
      if (error instanceof QueryError) return answer(play, { message: `Error: ${error.message}` }, 0);
      throw error;
    }
  }

  state(): StateInput<typeof sqlContract> {
    const { task, saved } = this.#current();
    const { family, kind, question, broken_query } = task;
    const { stepsLeft, submissionsLeft, submitted, isSolved } = saved;
    const left = { steps_left: stepsLeft, submissions_left: submissionsLeft };
    return { family, kind, question, broken_query, ...left, submitted, solved: isSolved };
  }

  snapshot(): Saved | null {
    return this.#play?.saved ?? null;
  }

  restore(saved: Saved | null): void {
    if (saved === null) return;
    const [split = "", index] = saved.task.split("-");
    const task = findTask(split, Number(index));
    if (task === undefined) throw new Error(`the snapshot is of the task ${saved.task}, which does not exist`);
    this.#play = new Play(task, saved);
  }

  render(observation: Seen) {
    return renderObservation(observation, this.#current().saved.isSolved);
  }

  actions(): { label: string; action: ActionInput<typeof sqlContract> }[] {
    const play = this.#current();
    if (play.isOver) return [];
    const { broken_query } = play.task;
    return [
      { label: "List the tables", action: { kind: "list_tables" } },
      ...familyOf(play.task).tables.map(({ name }) => ({
        label: `Describe ${name}`,
        action: { kind: "describe_table" as const, table: name },
      })),
      ...(broken_query === null
        ? []
        : [{ label: "Run the broken query", action: { kind: "run_query" as const, sql: broken_query } }]),
    ];
  }

  close(): void {
    this.#play?.database.close();
    this.#play = undefined;
  }

  #current(): Play {
    if (this.#play === undefined) throw new Error("the server let a call through before the reset");
    return this.#play;
  }
}

export default defineEnvironment(sqlContract, () => new SqlEnvironment(), {
  seeded: true,
  sharesState: "no",
  tasks,
});

function answer(play: Play, news: News, reward: number) {
  const { stepsLeft, submissionsLeft } = play.saved;
  const observation = { ...news, submissions_left: submissionsLeft, steps_left: stepsLeft };
  return { observation, reward, done: play.isOver };
}

/** @throws QueryError */
function submit({ task, saved }: Play, sql: string): News {
  saved.submissionsLeft--;
  saved.submitted = sql;
  const verdict = judge(task, sql);
  saved.isSolved = verdict === "right";
  return { message: VERDICTS[verdict] };
}

/** @throws QueryError */
function look({ task, database }: Play, action: Exclude<Action<typeof sqlContract>, { kind: "submit_query" }>): News {
  const { tables } = familyOf(task);
  switch (action.kind) {
    case "list_tables": {
      const rows = tables.map(({ name }) => [name, ...database.run(`SELECT COUNT(*) FROM ${name}`, 1).rows.flat()]);
      return { message: `${tables.length} tables.`, columns: ["table", "rows"], rows };
    }
    case "describe_table":
      return describe(tables, action.table);
    case "explain":
      return { message: "The plan.", columns: ["plan"], rows: database.explain(action.sql).map((line) => [line]) };
    case "run_query": {
      const { columns, rows, more } = database.run(action.sql, SHOWN_ROWS);
      const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
      return { message: more ? `The first ${count}; there are more.` : `${count}.`, columns, rows, more_rows: more };
    }
  }
}

function describe(tables: readonly Table[], wanted: string): News {
  const table = tables.find(({ name }) => name === wanted.trim().toLowerCase());
  if (table === undefined) {
    throw new QueryError(`there is no table "${wanted}"; tables: ${tables.map(({ name }) => name).join(", ")}`);
  }
  return { message: table.about, columns: ["column", "type"], rows: table.columns.map((column) => [...column]) };
}
