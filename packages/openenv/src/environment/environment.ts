import type { Action, ActionInput, Contract, ObservationInput, ResetFields, StateInput } from "../contract/contract.js";
import type { CallToolAction } from "../contract/tools/tool-schemas.js";
import type { ToolCall, ToolContext, ToolHandlers, Tools, ToolTransition } from "../contract/tools/tools.js";
import type { ViewPart } from "../protocol/web.js";
import type { MaybePromise } from "../util/types.js";
import { checkEpisodeLimits, type EpisodeLimitOptions } from "./episode-limits.js";
import { manage } from "./managed-environment.js";
import type { Rubric } from "./rubrics/rubric.js";
import type { Task, TaskProvider } from "./tasks/tasks.js";

export type { MaybePromise } from "../util/types.js";

/** What every call is told beside its input. Members are made when they are first read. */
export interface CallContext {
  /** Aborts when the client leaves, the time limit passes or the server stops. */
  readonly signal: AbortSignal;
  /** Milliseconds the caller gives this call; undefined without a limit. */
  readonly timeoutMs: number | undefined;
}

export interface StepContext extends CallContext {
  /** Free-form data the client sent with the action (`action.metadata`), `{}` without. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
}

/** What reset receives: the protocol's options and the ones the contract declares. */
export type ResetRequest<C extends Contract = Contract> = ResetFields<C> &
  CallContext & {
    /** A whole number from 0 on; undefined when the client leaves the choice to the environment. */
    readonly seed: number | undefined;
    /** The id of the new episode: the client's, or one that the server made. */
    readonly episodeId: string;
    readonly split: string | undefined;
    readonly index: number | undefined;
  } & TaskOf<C>;

/** A contract may have a reset option called `task` when the environment has no task provider. */
type TaskOf<C extends Contract> = "task" extends keyof ResetFields<C>
  ? unknown
  : {
      /** What `index` of `split` names, from the definition's `tasks`; undefined without an index or a provider. */
      readonly task?: Task | undefined;
    };

/** What a rubric scores: every action, and where the contract declares tools their calls by a step. */
export type ScoredAction<C extends Contract = Contract> =
  | Action<C>
  | ([keyof C["tools"]] extends [never] ? never : CallToolAction);

/** What a rubric sees of a step: the observation as the environment returned it, and what goes with it. */
export type ScoredObservation<C extends Contract = Contract> = ObservationInput<C> & {
  /** What the step returned as its own reward; null without. */
  readonly reward: number | boolean | null;
  readonly done: boolean;
  /** Has `truncated: true` where the episode was cut off. */
  readonly metadata: Readonly<Record<string, unknown>>;
};

/** What reset and step return. An illegal move is an observation, not an exception. */
export interface Transition<C extends Contract = Contract> {
  observation: ObservationInput<C>;
  /** Finite number, boolean or null; default null. */
  reward?: number | boolean | null;
  /** The episode has ended; default false. */
  done?: boolean;
  /** The episode was cut off (a time limit) instead of coming to its end; implies `done`. */
  truncated?: boolean;
  /** Free-form JSON for the client; open for additions everywhere. */
  metadata?: Record<string, unknown>;
}

/** Changes what reset or step returned, before it is validated and sent. Sync, without side effects. */
export type Transform<C extends Contract = Contract> = (transition: Transition<C>) => Transition<C>;

interface Episodes<C extends Contract> {
  /**
   * Scores every step: its score is the reward. It sees the reward that the step returned, as `observation.reward`. Reset
   * with the environment. Has to be there when the factory returns.
   */
  rubric?: Rubric<ScoredAction<C>, ScoredObservation<C>> | undefined;
  reset(request: ResetRequest<C>): MaybePromise<Transition<C>>;
  /** What the contract's `state` declares; `episode_id` and `step_count` are added by the server. */
  state?(): MaybePromise<StateInput<C>>;
  /** Called once, whatever ended the session. */
  close?(): MaybePromise<void>;
  /**
   * Makes marked text and pictures of an observation, for people who play in the web interface. Asked for after the
   * answer is decided, and only by them; what it throws is told in the view and costs the step nothing.
   */
  render?(observation: ObservationInput<C>): MaybePromise<ViewPart[]>;
  /** Steps that the web interface offers at one click, in its words for them. As `render`. */
  actions?(observation: ObservationInput<C>): MaybePromise<ActionChoice<C>[]>;
  /** Rewards a call of a tool by a step, or ends the episode. It is not told of calls that are no steps. */
  afterTool?(call: ToolCall, context: ToolContext): MaybePromise<ToolTransition>;
}

/** A step at one click. */
export interface ActionChoice<C extends Contract = Contract> {
  label: string;
  action: ActionInput<C>;
}

interface Steps<C extends Contract> {
  step(action: Action<C>, context: StepContext): MaybePromise<Transition<C>>;
}

/** One isolated session of an environment. Methods may be sync or async; never two run at once. */
export interface Environment<C extends Contract = Contract> extends Episodes<C>, Steps<C> {
  /** The handlers of the tools that the contract declares, by their names. */
  tools?: ToolHandlers<C["tools"]>;
}

/** What a factory makes: without `step` where the contract has tools only, with `tools` where it has some. */
type Made<C extends Contract> = Episodes<C> &
  (C["action"] extends CallToolAction ? unknown : Steps<C>) &
  Tooled<C["tools"]>;

type Tooled<T extends Tools> = string extends keyof T
  ? { tools?: ToolHandlers<T> }
  : [keyof T] extends [never]
    ? unknown
    : { tools: ToolHandlers<T> };

export interface EnvironmentOptions<C extends Contract = Contract> extends EpisodeLimitOptions {
  /** False for an environment that must not run twice in one process; capacity then is 1. Default true. */
  supportsConcurrentSessions?: boolean;
  /** What a step before any reset is. Default `error`. */
  stepBeforeReset?: "error" | "allow";
  /** The seed of reset fixes the episode: the same seed and actions give the same answers. `checkEnvironment` checks it. */
  seeded?: boolean;
  /** Serves the Task API, and gives reset the `task` that its `split` and `index` name. */
  tasks?: TaskProvider;
  /** Adds `metadata.rubric_scores` to every step: the score of each named rubric, null where it was not asked. */
  rubricScores?: boolean;
  /** Applied in order to what reset and step return, before validation. */
  transforms?: Transform<C>[];
  /** Markdown shown to users. */
  readme?: string;
  author?: string;
  documentationUrl?: string;
}

/** A contract with the factory that makes its sessions. */
export interface EnvironmentDefinition<C extends Contract = Contract> extends EnvironmentOptions<C> {
  readonly contract: C;
  readonly supportsConcurrentSessions: boolean;
  readonly stepBeforeReset: "error" | "allow";
  /** Makes one isolated session. */
  create(): MaybePromise<Environment<C>>;
  readonly [definitionMark]: true;
}

type Awaitable<T> = T extends PromiseLike<infer U> ? U : T;
type ObservationKeys<F> = F extends (...args: never[]) => infer R
  ? Awaitable<R> extends infer T
    ? T extends { observation: infer V }
      ? keyof V
      : never
    : never
  : never;
type Undeclared<C extends Contract, E extends Made<C>> = Exclude<
  ObservationKeys<E extends { step: infer F } ? F : never> | ObservationKeys<E["reset"]>,
  keyof ObservationInput<C>
>;
/** TypeScript lets a function return fields its type does not have; this makes such a field an error that names it. */
type OnlyDeclared<C extends Contract, E extends Made<C>> = [Undeclared<C, E>] extends [never]
  ? unknown
  : { step: `the observation has a field the contract does not declare: ${Undeclared<C, E> & string}` };

const definitionMark: unique symbol = Symbol.for("openenv.environment") as never;

/**
 * Joins a contract and the factory that makes one isolated session a call.
 * @throws TypeError when it is given an instance instead of a factory, or a reset option takes the place of the task.
 * @example defineEnvironment(counter, () => new CounterEnvironment());
 */
export function defineEnvironment<C extends Contract, E extends Made<C>>(
  contract: C,
  factory: () => MaybePromise<E & OnlyDeclared<C, E>>,
  options: EnvironmentOptions<C> = {},
): EnvironmentDefinition<C> {
  checkFactory(factory);
  checkEpisodeLimits(options);
  if (options.tasks !== undefined && "task" in contract.reset.shape) {
    throw new TypeError(
      `The reset option "task" is taken: with a task provider, reset is given the task under that name.`,
    );
  }
  return {
    ...options,
    contract,
    supportsConcurrentSessions: options.supportsConcurrentSessions ?? true,
    stepBeforeReset: options.stepBeforeReset ?? "error",
    create: manage(factory as Parameters<typeof manage>[0], options) as () => MaybePromise<Environment<C>>,
    [definitionMark]: true,
  };
}

/** True for what {@link defineEnvironment} returns, also when another copy of this package made it. */
export function isEnvironmentDefinition(value: unknown): value is EnvironmentDefinition {
  return typeof value === "object" && value !== null && definitionMark in value;
}

function checkFactory(factory: unknown): void {
  if (typeof factory !== "function") {
    throw new TypeError(
      "defineEnvironment needs a factory, one call of which makes one session: write " +
        "`defineEnvironment(contract, () => new MyEnvironment())`, not an instance.",
    );
  }
  if (/^class\b/.test(Function.prototype.toString.call(factory))) {
    throw new TypeError(
      `defineEnvironment was given the class ${factory.name} itself: write ` +
        `\`defineEnvironment(contract, () => new ${factory.name}())\`.`,
    );
  }
}
