import { isObject } from "../util/is-object.js";
import { isThenable } from "../util/thenable.js";
import type { MaybePromise } from "../util/types.js";
import { findTask } from "./find-task.js";
import type { Rubric, ScoreContext } from "./rubric.js";
import type { TaskProvider } from "./tasks.js";

export interface ManageOptions {
  tasks?: TaskProvider;
  rubricScores?: boolean;
}

interface Result {
  observation: object;
  reward?: number | boolean | null;
  done?: boolean;
  truncated?: boolean;
  metadata?: Record<string, unknown>;
}

interface Request {
  readonly split: string | undefined;
  readonly index: number | undefined;
}

/** An environment, of whatever contract. */
interface Managed {
  rubric?: Rubric | undefined;
  reset(request: Request): MaybePromise<Result>;
  step(action: unknown, context: ScoreContext): MaybePromise<Result>;
  state?(): MaybePromise<object>;
  close?(): MaybePromise<void>;
}

/** The factory of environments that have their tasks looked up and their steps scored, where there is something to do. */
export function manage(factory: () => MaybePromise<Managed>, options: ManageOptions): () => MaybePromise<Managed> {
  const wrap = (made: Managed): Managed => {
    if (options.tasks === undefined && made?.rubric === undefined) return made;
    // What is no environment is told to the author by whoever uses it.
    if (typeof made?.reset !== "function" || typeof made.step !== "function") return made;
    return new ManagedEnvironment(made, options);
  };
  return () => {
    const made = factory();
    return isThenable(made) ? made.then(wrap) : wrap(made);
  };
}

class ManagedEnvironment implements Managed {
  readonly #inner: Managed;
  readonly #tasks: TaskProvider | undefined;
  readonly #showScores: boolean;

  constructor(inner: Managed, { tasks, rubricScores = false }: ManageOptions) {
    this.#inner = inner;
    this.#tasks = tasks;
    this.#showScores = rubricScores;
  }

  reset(request: Request): MaybePromise<Result> {
    const begin = (task: unknown): MaybePromise<Result> => {
      this.#inner.rubric?.reset();
      return this.#inner.reset(task === undefined ? request : Object.assign(request, { task }));
    };
    if (this.#tasks === undefined || (request.split === undefined && request.index === undefined)) {
      return begin(undefined);
    }
    const task = findTask(this.#tasks, request);
    return isThenable(task) ? task.then(begin) : begin(task);
  }

  step(action: unknown, context: ScoreContext): MaybePromise<Result> {
    const result = this.#inner.step(action, context);
    const { rubric } = this.#inner;
    if (rubric === undefined) return result;
    const score = (value: Result): MaybePromise<Result> => this.#score(rubric, { action, result: value, context });
    return isThenable(result) ? result.then(score) : score(result);
  }

  state(): MaybePromise<object> {
    return this.#inner.state?.() ?? {};
  }

  close(): MaybePromise<void> {
    return this.#inner.close?.();
  }

  #score(rubric: Rubric, { action, result, context }: Step): MaybePromise<Result> {
    // What is no result is told to the author by the check that comes after.
    if (!isObject(result) || !isObject(result.observation)) return result;
    const reward = rubric.score(action, seen(result), context);
    const show = (value: number): Result => this.#rewarded(result, value, rubric);
    return isThenable(reward) ? reward.then(show) : show(reward);
  }

  #rewarded(result: Result, reward: number, rubric: Rubric): Result {
    if (!this.#showScores) return { ...result, reward };
    const scores = Object.fromEntries(rubric.namedRubrics().map(([path, { lastScore }]) => [path, lastScore]));
    return { ...result, reward, metadata: { ...result.metadata, rubric_scores: scores } };
  }
}

interface Step {
  action: unknown;
  result: Result;
  context: ScoreContext;
}

/** The observation with what goes with it, as a rubric sees it. */
function seen({ observation, reward = null, done, truncated, metadata }: Result): object {
  return {
    ...observation,
    reward,
    done: done === true || truncated === true,
    metadata: truncated === true ? { ...metadata, truncated } : { ...metadata },
  };
}
