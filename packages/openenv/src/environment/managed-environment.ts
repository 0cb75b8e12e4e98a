import type { ToolCall, ToolTransition } from "../contract/tools/tools.js";
import type { JsonObject } from "../protocol/messages.js";
import { isAgentsDoing } from "../protocol/tools.js";
import { isThenable } from "../util/async/thenable.js";
import { isObject } from "../util/is-object.js";
import type { MaybePromise } from "../util/types.js";
import { type EpisodeLimitOptions, EpisodeLimits } from "./episode-limits.js";
import type { Rubric, RubricState, ScoreContext } from "./rubrics/rubric.js";
import { findTask } from "./tasks/find-task.js";
import type { TaskProvider } from "./tasks/tasks.js";

export interface ManageOptions extends EpisodeLimitOptions {
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

/** The state of an environment: the author's snapshot, and the state of the rubric and the limits around it. */
export interface SavedEnvironment {
  snapshot: unknown;
  more?: JsonObject | undefined;
}

/** Saves and loads an environment with more state than its author's. */
export interface Saver {
  save(): MaybePromise<SavedEnvironment>;
  load(saved: SavedEnvironment): MaybePromise<void>;
}

/** The member with the {@link Saver}; a symbol that other copies of this package know. */
export const saver: unique symbol = Symbol.for("openenv.saver") as never;

/** The context of a call. */
interface Context extends ScoreContext {
  now(): number;
}

interface Request extends Context {
  readonly split: string | undefined;
  readonly index: number | undefined;
}

/** An environment of any contract. */
interface Managed {
  rubric?: Rubric | undefined;
  reset(request: Request): MaybePromise<Result>;
  /** Missing for a tools-only contract. */
  step?(action: unknown, context: Context): MaybePromise<Result>;
  state?(): MaybePromise<object>;
  close?(): MaybePromise<void>;
  tools?: object;
  afterTool?(call: ToolCall, context: Context): MaybePromise<ToolTransition>;
  snapshot?(): MaybePromise<unknown>;
  restore?(snapshot: unknown): MaybePromise<void>;
  stateKey?(): MaybePromise<unknown>;
  render?(observation: object): MaybePromise<unknown[]>;
  actions?(observation: object): MaybePromise<unknown[]>;
}

/** Wraps a factory: its environments look up tasks, limit episodes and score steps, as far as they need it. */
export function manage<Context>(
  factory: (context: Context) => MaybePromise<Managed>,
  options: ManageOptions,
): (context: Context) => MaybePromise<Managed> {
  const isLimited = options.maxSteps !== undefined || options.maxSeconds !== undefined;
  const wrap = (made: Managed): Managed => {
    if (options.tasks === undefined && made?.rubric === undefined && !isLimited) return made;
    // The caller reports a value that is not an environment.
    if (typeof made?.reset !== "function") return made;
    return new ManagedEnvironment(made, options);
  };
  return (context) => {
    const made = factory(context);
    return isThenable(made) ? made.then(wrap) : wrap(made);
  };
}

class ManagedEnvironment implements Managed {
  readonly #inner: Managed;
  readonly #tasks: TaskProvider | undefined;
  readonly #showScores: boolean;
  readonly #limits: EpisodeLimits | undefined;
  readonly step?: NonNullable<Managed["step"]>;
  readonly tools?: object;
  readonly afterTool?: NonNullable<Managed["afterTool"]>;
  readonly render?: NonNullable<Managed["render"]>;
  readonly actions?: NonNullable<Managed["actions"]>;
  readonly snapshot?: NonNullable<Managed["snapshot"]>;
  readonly restore?: NonNullable<Managed["restore"]>;
  readonly stateKey?: NonNullable<Managed["stateKey"]>;
  readonly [saver]: Saver;

  constructor(inner: Managed, { tasks, rubricScores = false, ...limits }: ManageOptions) {
    this.#inner = inner;
    this.#tasks = tasks;
    this.#showScores = rubricScores;
    if (limits.maxSteps !== undefined || limits.maxSeconds !== undefined) this.#limits = new EpisodeLimits(limits);
    // The caller reports a missing method.
    if (typeof inner.step === "function") this.step = (action, context) => this.#step(action, context);
    if (inner.tools !== undefined) this.tools = inner.tools;
    if (inner.afterTool ?? inner.rubric ?? this.#limits)
      this.afterTool = (call, context) => this.#afterTool(call, context);
    if (inner.render !== undefined) this.render = inner.render.bind(inner);
    if (inner.actions !== undefined) this.actions = inner.actions.bind(inner);
    if (inner.snapshot !== undefined) this.snapshot = inner.snapshot.bind(inner);
    if (inner.restore !== undefined) this.restore = inner.restore.bind(inner);
    if (inner.stateKey !== undefined) this.stateKey = inner.stateKey.bind(inner);
    this[saver] = {
      save: () => {
        const more = { rubric: inner.rubric?.stateDict(), limits: this.#limits?.save() };
        const snapshot = inner.snapshot?.();
        return isThenable(snapshot) ? snapshot.then((late) => ({ snapshot: late, more })) : { snapshot, more };
      },
      load: async ({ snapshot, more }) => {
        await inner.restore?.(snapshot);
        inner.rubric?.loadStateDict(more?.["rubric"] as RubricState);
        this.#limits?.load(more?.["limits"] as Parameters<EpisodeLimits["load"]>[0]);
      },
    };
  }

  reset(request: Request): MaybePromise<Result> {
    const begin = (task: unknown): MaybePromise<Result> => {
      this.#inner.rubric?.reset();
      this.#limits?.begin(request);
      return this.#inner.reset(task === undefined ? request : Object.assign(request, { task }));
    };
    if (this.#tasks === undefined || (request.split === undefined && request.index === undefined)) {
      return begin(undefined);
    }
    const task = findTask(this.#tasks, request);
    return isThenable(task) ? task.then(begin) : begin(task);
  }

  #step(action: unknown, context: Context): MaybePromise<Result> {
    const result = this.#inner.step?.(action, context) as MaybePromise<Result>;
    const { rubric } = this.#inner;
    const finish = (value: Result): MaybePromise<Result> => {
      const limited = this.#limit(value, context);
      return rubric === undefined ? limited : this.#score(rubric, { action, result: limited, context });
    };
    return isThenable(result) ? result.then(finish) : finish(result);
  }

  state(): MaybePromise<object> {
    return this.#inner.state?.() ?? {};
  }

  close(): MaybePromise<void> {
    return this.#inner.close?.();
  }

  /** A step that called a tool is scored like any other, unless the call failed through no fault of the agent. */
  #afterTool(call: ToolCall, context: Context): MaybePromise<ToolTransition> {
    const told = this.#inner.afterTool?.(call, context) ?? {};
    const { rubric } = this.#inner;
    const { name, arguments: given, result = null, error = null } = call;
    const action = { type: "call_tool", tool_name: name, arguments: given };
    const finish = (outcome: ToolTransition): MaybePromise<ToolTransition> => {
      const more = this.#limit(outcome, context);
      if (rubric === undefined || !isAgentsDoing(call)) return more;
      const scored = { ...more, observation: { tool_name: name, result, error } };
      const rewarded = this.#score(rubric, { action, result: scored, context });
      return isThenable(rewarded) ? rewarded.then(withoutObservation) : withoutObservation(rewarded);
    };
    return isThenable(told) ? told.then(finish) : finish(told);
  }

  /** Validation reports an invalid result. */
  #limit<R>(result: R, context: Context): R {
    return this.#limits !== undefined && isObject(result) ? this.#limits.apply(result, context) : result;
  }

  #score(rubric: Rubric, { action, result, context }: Step): MaybePromise<Result> {
    // Validation reports an invalid result.
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

function withoutObservation({ observation: _toolsOwn, ...more }: Result): ToolTransition {
  return more;
}

interface Step {
  action: unknown;
  result: Result;
  context: Context;
}

/** The observation with reward, done and metadata, as a rubric receives it. */
function seen({ observation, reward = null, done, truncated, metadata }: Result): object {
  return {
    ...observation,
    reward,
    done: done === true || truncated === true,
    metadata: truncated === true ? { ...metadata, truncated } : { ...metadata },
  };
}
