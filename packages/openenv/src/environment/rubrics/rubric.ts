import { isThenable } from "../../util/async/thenable.js";
import type { MaybePromise } from "../../util/types.js";
import { failureOf, notFinite, withPath } from "./rubric-failure.js";
import { members, type Named, type RubricState, readState, walk, writeState } from "./rubric-tree.js";

export type { RubricState } from "./rubric-tree.js";

/** What scoring is told beside the step. */
export interface ScoreContext {
  /** Aborts when nobody waits for the score any more. */
  readonly signal?: AbortSignal;
}

// With a member beside the call, TypeScript compares hooks as it compares methods: a rubric for any observation then fits
// where one for a certain observation is wanted.
/** Runs before a rubric scores; a failure of it is one of the rubric. */
export interface PreHook<A = unknown, O = unknown> {
  (rubric: Rubric, action: A, observation: O): MaybePromise<void>;
  readonly name?: string;
}
/** Runs after a rubric has scored; a failure of it is one of the rubric. */
export interface PostHook<A = unknown, O = unknown> {
  (rubric: Rubric, action: A, observation: O, score: number): MaybePromise<void>;
  readonly name?: string;
}

/** A rubric with its name, or its path. */
export type NamedRubric = Named<Rubric>;
type Hook = (...args: unknown[]) => unknown;

/**
 * Computes a reward from an action and the observation that came of it. A rubric that is held in a property of another
 * is its child, named by the property. Instances belong to one session. What is sync stays sync.
 */
export abstract class Rubric<A = unknown, O = unknown> {
  #lastScore: number | null = null;
  #preHooks: Hook[] | undefined;
  #postHooks: Hook[] | undefined;
  /** Where it is in the step that the root of its tree scores: others ask it, or it is skipped. */
  #turn: "idle" | "waiting" | "asked" = "idle";

  /** The score, a finite number. Children are asked with `score`, never with `forward`, which knows no hooks. */
  abstract forward(action: A, observation: O, context: ScoreContext): MaybePromise<number>;

  /**
   * Runs the pre-hooks, `forward` and the post-hooks. A promise only when one of them, or a child, gives one.
   * @throws RubricError, or rejects with it, naming the rubric that failed.
   */
  score(action: A, observation: O, context: ScoreContext = NO_CONTEXT): MaybePromise<number> {
    return this.#turn === "idle"
      ? this.#lead(action, observation, context)
      : this.#perform(action, observation, context);
  }

  /** The score of the last step; null before the first, and after a step for which it was not asked or failed. */
  get lastScore(): number | null {
    return this.#lastScore;
  }

  /** Runs before every `forward`, in the order added. Returns what removes it. */
  addPreHook(hook: PreHook<A, O>): () => void {
    return add((this.#preHooks ??= []), hook as Hook);
  }

  /** Runs with the score after every `forward` that gave one. Returns what removes it. */
  addPostHook(hook: PostHook<A, O>): () => void {
    return add((this.#postHooks ??= []), hook as Hook);
  }

  /** The children with their names. A container adds what it holds elsewhere than in properties. */
  namedChildren(): NamedRubric[] {
    const found: NamedRubric[] = [];
    for (const name of Object.keys(this)) {
      const value: unknown = this[name as keyof this];
      if (value instanceof Rubric) found.push([name, value]);
    }
    return found;
  }

  /** Every rubric below this one, each before its children, with its path: `games.pong`. */
  namedRubrics(): NamedRubric[] {
    return walk<Rubric>(this).slice(1);
  }

  /** The rubric at a path such as `games.pong`. @throws RangeError that names the paths there are. */
  getRubric(path: string): Rubric {
    const found = walk<Rubric>(this).find(([name]) => name === path);
    if (found !== undefined) return found[1];
    const paths = this.namedRubrics().map(([name]) => name);
    throw new RangeError(`There is no rubric "${path}"; there are: ${paths.join(", ") || "none"}.`);
  }

  /** A new episode: this rubric and all below forget the last one. @throws RubricError after all have been called. */
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

  /** What this rubric and all below would need to go on elsewhere: plain JSON by path, this one's at "". */
  stateDict(): RubricState {
    return writeState(walk<Rubric>(this), (rubric) => rubric.saveState());
  }

  /**
   * Takes on what {@link stateDict} gave for a tree of the same shape; a state that does not fit changes nothing.
   * @throws RubricError that names the paths that are missing or unknown.
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

  /** Called on reset. Override it to forget what belongs to an episode; children are called on their own. */
  protected clear(): void {}

  /** Called instead of `forward` for a step on which nobody asked this rubric, as behind a gate that closed. */
  protected skipped(_action: A, _observation: O): void {}

  /** This rubric's own part of the state, as JSON. Children are called on their own. */
  protected saveState(): Record<string, unknown> {
    return {};
  }

  /** Takes on what {@link saveState} gave. Throws when it does not fit. */
  protected loadState(_state: Readonly<Record<string, unknown>>): void {}

  /** Scores a step as the root of its tree: in the end, whoever has not been asked is told of the step. */
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

  /** Ends the turn of all; gives the first failure of one that was told of the step. */
  #end(all: Rubric[], action: A, observation: O): unknown {
    let problem: unknown;
    for (const rubric of all) {
      const found = rubric.#endTurn(action, observation);
      problem ??= found;
    }
    return problem === undefined ? undefined : withPath(problem, walk<Rubric>(this));
  }

  /** Back to rest; gives what went wrong when it was told of a step without it. */
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

/** One after the other; a promise from the first async one on. */
function runHooks(hooks: readonly Hook[], args: unknown[], from = 0): Promise<void> | undefined {
  for (let i = from; i < hooks.length; i++) {
    const done = hooks[i]?.(...args);
    if (isThenable(done)) return Promise.resolve(done).then(() => runHooks(hooks, args, i + 1));
  }
  return undefined;
}
