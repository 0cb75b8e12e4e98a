import type { RecordEffect } from "../../contract/tools/tools.js";
import { isThenable } from "../../util/async/thenable.js";
import type { MaybePromise } from "../../util/types.js";
import { failureOf, notFinite, withPath } from "./rubric-failure.js";
import { members, type Named, type RubricState, readState, walk, writeState } from "./rubric-tree.js";

export type { RubricState } from "./rubric-tree.js";

/** What scoring receives in addition to the step. */
export interface ScoreContext<S = Record<string, unknown>> {
  /**
   * What `state()` of the environment returns after the step, as its author returns it; in an environment. `forward` may
   * declare its type: `ScoreContext<StateInput<typeof contract>>`.
   */
  readonly state?: () => MaybePromise<S>;
  /** Aborts when the score is no longer needed. */
  readonly signal?: AbortSignal;
  /** Records the result of a call to the outside, so that a replay does not repeat it: see `ToolContext.record`. */
  readonly record?: RecordEffect;
}

// The member `name` makes TypeScript compare hooks bivariantly, as it does methods: a rubric for any observation is
// then assignable to a rubric for a specific observation.
/** Runs before a rubric scores. If it fails, the rubric fails. */
export interface PreHook<A = unknown, O = unknown> {
  (rubric: Rubric, action: A, observation: O): MaybePromise<void>;
  readonly name?: string;
}
/** Runs after a rubric has scored. If it fails, the rubric fails. */
export interface PostHook<A = unknown, O = unknown> {
  (rubric: Rubric, action: A, observation: O, score: number): MaybePromise<void>;
  readonly name?: string;
}

/** A rubric with its name or path. */
export type NamedRubric = Named<Rubric>;
type Hook = (...args: unknown[]) => unknown;

/**
 * Computes a reward from an action and the resulting observation. A rubric in a property of another rubric is its
 * child, named by the property. An instance belongs to one session. Scoring is sync unless a rubric or hook is async.
 */
export abstract class Rubric<A = unknown, O = unknown> {
  #lastScore: number | null = null;
  #preHooks: Hook[] | undefined;
  #postHooks: Hook[] | undefined;
  /** State within the step that the root scores: `waiting` until another rubric calls this one, then `asked`. */
  #turn: "idle" | "waiting" | "asked" = "idle";

  /** Computes the score, a finite number. Call children with `score`, because `forward` does not run hooks. */
  abstract forward(action: A, observation: O, context: ScoreContext): MaybePromise<number>;

  /**
   * Runs the pre-hooks, `forward` and the post-hooks. Returns a promise only if one of them, or a child, is async.
   * @throws RubricError, or rejects with it, naming the rubric that failed.
   */
  score(action: A, observation: O, context: ScoreContext = NO_CONTEXT): MaybePromise<number> {
    return this.#turn === "idle"
      ? this.#lead(action, observation, context)
      : this.#perform(action, observation, context);
  }

  /**
   * The score of the last step; null before the first step and after a step in which the rubric did not run or failed.
   */
  get lastScore(): number | null {
    return this.#lastScore;
  }

  /** Adds a hook that runs before every `forward`, in the order added. Returns a function that removes it. */
  addPreHook(hook: PreHook<A, O>): () => void {
    return add((this.#preHooks ??= []), hook as Hook);
  }

  /** Adds a hook that runs with the score after every successful `forward`. Returns a function that removes it. */
  addPostHook(hook: PostHook<A, O>): () => void {
    return add((this.#postHooks ??= []), hook as Hook);
  }

  /** The children with their names. Containers add children that are not in properties. */
  namedChildren(): NamedRubric[] {
    const found: NamedRubric[] = [];
    for (const name of Object.keys(this)) {
      const value: unknown = this[name as keyof this];
      if (value instanceof Rubric) found.push([name, value]);
    }
    return found;
  }

  /** All descendants with their paths (`games.pong`), parents first. */
  namedRubrics(): NamedRubric[] {
    return walk<Rubric>(this).slice(1);
  }

  /** The rubric at a path such as `games.pong`. @throws RangeError listing the known paths. */
  getRubric(path: string): Rubric {
    const found = walk<Rubric>(this).find(([name]) => name === path);
    if (found !== undefined) return found[1];
    const paths = this.namedRubrics().map(([name]) => name);
    throw new RangeError(`No rubric at "${path}"; known paths: ${paths.join(", ") || "none"}.`);
  }

  /** Clears this rubric and its descendants for a new episode. @throws RubricError after all have been cleared. */
  reset(): void {
    let problem: unknown;
    for (const rubric of members<Rubric>(this)) {
      rubric.#lastScore = null;
      try {
        rubric.clear();
      } catch (error) {
        problem ??= failureOf(rubric, error);
      }
    }
    if (problem !== undefined) throw withPath(problem, walk<Rubric>(this));
  }

  /** The state of this rubric and its descendants as plain JSON by path; this rubric has the path "". */
  stateDict(): RubricState {
    return writeState(walk<Rubric>(this), (rubric) => rubric.saveState());
  }

  /**
   * Restores the result of {@link stateDict} into a tree of the same shape. A state that does not fit changes nothing.
   * @throws RubricError naming the missing or unknown paths.
   */
  loadStateDict(state: RubricState): void {
    const all: NamedRubric[] = walk<Rubric>(this);
    const parts = readState(all, state);
    const before = readState(all, this.stateDict());
    let rubric: Rubric = this;
    try {
      for (const [next, part] of parts) (rubric = next).loadState(part);
    } catch (error) {
      for (const [next, part] of before) next.loadState(part);
      throw withPath(failureOf(rubric, error), all);
    }
  }

  /** Called on reset. Override it to clear the state of an episode; children are called separately. */
  protected clear(): void {}

  /**
   * Called instead of `forward` for a step in which this rubric did not run, such as after a `Sequential` that stopped.
   */
  protected skipped(_action: A, _observation: O): void {}

  /** The state of this rubric as JSON. Children are called separately. */
  protected saveState(): Record<string, unknown> {
    return {};
  }

  /** Restores the result of {@link saveState}. Throws when it does not fit. */
  protected loadState(_state: Readonly<Record<string, unknown>>): void {}

  /** Scores a step as the root of the tree, then calls `skipped` on the rubrics that did not run. */
  #lead(action: A, observation: O, context: ScoreContext): MaybePromise<number> {
    const all = members<Rubric>(this);
    for (const rubric of all) rubric.#turn = "waiting";
    let score: MaybePromise<number>;
    try {
      score = this.#perform(action, observation, context);
    } catch (error) {
      this.#end(all, action, observation);
      throw withPath(error, walk<Rubric>(this));
    }
    if (isThenable(score)) return this.#await(all, [action, observation], score);
    const problem = this.#end(all, action, observation);
    if (problem !== undefined) throw problem;
    return score;
  }

  async #await(all: Rubric[], [action, observation]: [A, O], pending: PromiseLike<number>): Promise<number> {
    let problem: unknown;
    try {
      const score = await pending;
      problem = this.#end(all, action, observation);
      if (problem === undefined) return score;
    } catch (error) {
      this.#end(all, action, observation);
      problem = withPath(error, walk<Rubric>(this));
    }
    throw problem;
  }

  /** Ends the step for all rubrics; returns the first error of `skipped`. */
  #end(all: Rubric[], action: A, observation: O): unknown {
    let problem: unknown;
    for (const rubric of all) {
      const found = rubric.#endTurn(action, observation);
      problem ??= found;
    }
    return problem === undefined ? undefined : withPath(problem, walk<Rubric>(this));
  }

  /** Ends the step for this rubric; returns the error of `skipped`. */
  #endTurn(action: A, observation: O): unknown {
    const wasSkipped = this.#turn === "waiting";
    this.#turn = "idle";
    if (!wasSkipped) return undefined;
    this.#lastScore = null;
    try {
      this.skipped(action, observation);
      return undefined;
    } catch (error) {
      return failureOf(this, error);
    }
  }

  #perform(action: A, observation: O, context: ScoreContext): MaybePromise<number> {
    try {
      const ready = this.#preHooks && runHooks(this.#preHooks, [this, action, observation]);
      const score = ready
        ? ready.then(() => this.#ask(action, observation, context))
        : this.#ask(action, observation, context);
      const finished = isThenable(score)
        ? score.then((value) => this.#finish(value, action, observation))
        : this.#finish(score, action, observation);
      if (!isThenable(finished)) return finished;
      return finished.then(undefined, (error: unknown) => {
        throw this.#failed(error);
      });
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #ask(action: A, observation: O, context: ScoreContext): MaybePromise<number> {
    if (this.#turn === "waiting") this.#turn = "asked";
    return this.forward(action, observation, context);
  }

  #finish(score: number, action: A, observation: O): MaybePromise<number> {
    if (!Number.isFinite(score)) throw notFinite(this, score);
    this.#lastScore = score;
    const done = this.#postHooks && runHooks(this.#postHooks, [this, action, observation, score]);
    return done ? done.then(() => score) : score;
  }

  #failed(error: unknown): unknown {
    this.#lastScore = null;
    return failureOf(this, error);
  }
}

const NO_CONTEXT: ScoreContext = Object.freeze({});

function add<T>(list: T[], item: T): () => void {
  list.push(item);
  return () => {
    const at = list.indexOf(item);
    if (at >= 0) list.splice(at, 1);
  };
}

/** Runs hooks in order; returns a promise from the first async hook on. */
function runHooks(hooks: readonly Hook[], args: unknown[], from = 0): Promise<void> | undefined {
  for (let i = from; i < hooks.length; i++) {
    const done = hooks[i]?.(...args);
    if (isThenable(done)) return Promise.resolve(done).then(() => runHooks(hooks, args, i + 1));
  }
  return undefined;
}
