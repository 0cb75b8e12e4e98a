import type { Action, Contract } from "../contract/contract.js";
import type { ToolCall, ToolContext, ToolTransition } from "../contract/tools/tools.js";
import { isAgentsDoing } from "../protocol/tools.js";
import { after } from "../util/async/after.js";
import { isThenable } from "../util/async/thenable.js";
import { isObject } from "../util/is-object.js";
import type { Eventual, MaybePromise } from "../util/types.js";
import type { Environment, ResetRequest, StepContext, Transition } from "./environment.js";
import type { EpisodeLimitOptions } from "./episode-limits.js";
import type { Rubric, RubricState, ScoreContext } from "./rubrics/rubric.js";
import { findTask } from "./tasks/find-task.js";
import type { Task, TaskProvider } from "./tasks/tasks.js";
import { TimeLimit } from "./wrappers/time-limit.js";
import { Wrapper } from "./wrappers/wrapper.js";

interface ManageOptions extends EpisodeLimitOptions {
  tasks?: TaskProvider;
  rubricScores?: boolean;
}

/** Wraps a factory: its environments look up tasks, limit episodes and score steps, as far as they need it. */
export function manage<Context>(
  factory: (context: Context) => MaybePromise<Environment>,
  { tasks, rubricScores = false, ...limits }: ManageOptions,
): (context: Context) => MaybePromise<Environment> {
  const isLimited = limits.maxSteps !== undefined || limits.maxSeconds !== undefined;
  const wrap = (made: Environment): Environment => {
    // The caller reports a value that is not an environment.
    if (typeof made?.reset !== "function") return made;
    let env: Environment = made;
    if (isLimited) env = new TimeLimit(env, limits) as Environment;
    if (made.rubric !== undefined) env = new ScoredEnvironment(env, made.rubric as Rubric, rubricScores) as Environment;
    return tasks === undefined ? env : (new TaskEnvironment(env, tasks) as Environment);
  };
  return (context) => {
    const made = factory(context);
    return isThenable(made) ? made.then(wrap) : wrap(made);
  };
}

/** Passes reset the task at its `split` and `index`. */
class TaskEnvironment extends Wrapper {
  readonly #tasks: TaskProvider;

  constructor(env: Environment, tasks: TaskProvider) {
    super(env);
    this.#tasks = tasks;
  }

  override reset(request: ResetRequest): MaybePromise<Transition> {
    if (request.split === undefined && request.index === undefined) return super.reset(request);
    const begin = (task: Task | undefined): Eventual<Transition> =>
      super.reset(task === undefined ? request : Object.assign(request, { task })) as Eventual<Transition>;
    return after(findTask(this.#tasks, request), begin);
  }
}

/** Rewards steps with the score of a rubric. */
class ScoredEnvironment<C extends Contract> extends Wrapper<C> {
  readonly #rubric: Rubric;
  readonly #showScores: boolean;

  constructor(env: Environment<C>, rubric: Rubric, showScores: boolean) {
    super(env);
    this.#rubric = rubric;
    this.#showScores = showScores;
  }

  override reset(request: ResetRequest<C>): MaybePromise<Transition<C>> {
    this.#rubric.reset();
    return super.reset(request);
  }

  override step(action: Action<C>, context: StepContext): MaybePromise<Transition<C>> {
    return after(super.step(action, context), (result) => this.#score({ action, result, context }));
  }

  /** A step that called a tool is scored like any other, unless the call failed through no fault of the agent. */
  override afterTool(call: ToolCall, context: ToolContext): MaybePromise<ToolTransition> {
    const { name, arguments: given, result = null, error = null } = call;
    const action = { type: "call_tool", tool_name: name, arguments: given };
    return after(super.afterTool(call, context), (outcome): ToolTransition | Promise<ToolTransition> => {
      if (!isAgentsDoing(call)) return outcome;
      const scored = { ...outcome, observation: { tool_name: name, result, error } };
      return after(this.#score({ action, result: scored, context }), ({ observation: _toolsOwn, ...more }) => more);
    });
  }

  protected override saveState(): Record<string, unknown> {
    return this.#rubric.stateDict();
  }

  protected override loadState(state: Readonly<Record<string, unknown>>): void {
    this.#rubric.loadStateDict(state as RubricState);
  }

  #score<R extends Result>({ action, result, context }: Step<R>): R | Promise<R> {
    // Validation reports an invalid result.
    if (!isObject(result) || !isObject(result.observation)) return result;
    return after(this.#rubric.score(action, seen(result), new StepScore(this.env, context)), (reward) =>
      this.#rewarded(result, reward),
    );
  }

  #rewarded<R extends Result>(result: R, reward: number): R {
    if (!this.#showScores) return { ...result, reward };
    const scores = Object.fromEntries(this.#rubric.namedRubrics().map(([path, { lastScore }]) => [path, lastScore]));
    return { ...result, reward, metadata: { ...result.metadata, rubric_scores: scores } };
  }
}

/** What a rubric receives. Its members are read from the call when they are needed. */
class StepScore<C extends Contract> implements ScoreContext {
  readonly #env: Environment<C>;
  readonly #call: ToolContext;

  constructor(env: Environment<C>, call: ToolContext) {
    this.#env = env;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get record(): ToolContext["record"] {
    return this.#call.record;
  }

  get state(): () => MaybePromise<Record<string, unknown>> {
    return () => (this.#env.state?.() ?? {}) as MaybePromise<Record<string, unknown>>;
  }
}

interface Result extends ToolTransition {
  observation: object;
}

interface Step<R> {
  action: unknown;
  result: R;
  context: ToolContext;
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
