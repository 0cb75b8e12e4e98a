import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import {
  type Action,
  type Contract,
  defineContract,
  type ObjectSchema,
  type ObservationInput,
} from "../../contract/contract.js";
import type { CallToolAction, ToolObservation } from "../../contract/tools/tool-schemas.js";
import type { ViewPart } from "../../protocol/web.js";
import { after } from "../../util/async/after.js";
import { isObject } from "../../util/is-object.js";
import { snapshot } from "../../util/snapshot.js";
import type { MaybePromise } from "../../util/types.js";
import type {
  ActionChoice,
  Environment,
  EnvironmentDefinition,
  ResetRequest,
  StepContext,
  Transition,
} from "../environment.js";
import { Wrapper, wrapEnvironment } from "./wrapper.js";

/** The contract with another observation, of resets alone if the contract has only tools. */
export type WithObservation<C extends Contract, O extends ObjectSchema> =
  C extends Contract<infer A, infer _O, infer S, infer R, infer T>
    ? Contract<A, C["action"] extends CallToolAction ? ToolObservation<O> : O, S, R, T, O>
    : never;

/** What an environment returns as the observation of resets, and of steps with an action of its contract. */
type Shown<C extends Contract> = z.input<C["resetObservation"]>;

/**
 * Changes each observation. The results of tools are not observations, and stay. With a schema, the observation has
 * another shape; the views of the inner environment are then made of its own observation, and an outer wrapper that
 * changes the new observation leaves none.
 * @example transformObservation(environment, ({ board }) => ({ board: board.toUpperCase() }));
 */
export function transformObservation<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  transform: (observation: Shown<C>) => MaybePromise<Shown<C>>,
): EnvironmentDefinition<C>;
export function transformObservation<C extends Contract, O extends ObjectSchema>(
  environment: EnvironmentDefinition<C>,
  transform: (observation: Shown<C>) => MaybePromise<z.input<O>>,
  schema: O,
): EnvironmentDefinition<WithObservation<C, O>>;
export function transformObservation(
  environment: EnvironmentDefinition,
  transform: (observation: Shown<Contract>) => MaybePromise<Shown<Contract>>,
  schema?: ObjectSchema,
): EnvironmentDefinition {
  const wrap = (env: Environment) => new TransformObservation(env, { transform, showsInner: schema !== undefined });
  return wrapEnvironment(environment, wrap, withObservation(environment.contract, schema));
}

/**
 * Keeps the named fields of the observation and leaves out all others, also in views. The state is not changed.
 * @throws TypeError for a field that the observation does not declare.
 * @example filterObservation(environment, ["question"]);
 */
export function filterObservation<
  C extends Contract,
  const K extends readonly (keyof C["resetObservation"]["shape"] & string)[],
>(
  environment: EnvironmentDefinition<C>,
  keep: K,
): EnvironmentDefinition<WithObservation<C, z.ZodObject<Pick<C["resetObservation"]["shape"], K[number]>>>>;
export function filterObservation(environment: EnvironmentDefinition, keep: readonly string[]): EnvironmentDefinition {
  const { name, resetObservation } = environment.contract;
  const { shape } = resetObservation;
  const unknown = keep.find((field) => !(field in shape));
  if (unknown !== undefined) throw new TypeError(`The observation of ${name} has no field "${unknown}".`);
  const pick = (from: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(from).filter(([field]) => keep.includes(field)));
  const wrap = (env: Environment) => new TransformObservation(env, { transform: pick, showsInner: false });
  const schema = z.object(pick(shape) as ObjectSchema["shape"]);
  return wrapEnvironment(environment, wrap, withObservation(environment.contract, schema));
}

/** One earlier step: what the agent saw, and what it did then. */
type History<C extends Contract> = z.ZodArray<z.ZodObject<{ observation: C["observation"]; action: C["action"] }>>;

/**
 * Adds `history` to each observation: the last steps of the episode with the observation before each, oldest first.
 * Tool calls are not part of it.
 * @throws TypeError for a size that is not a positive integer, and for a contract without an action, or with a `history`.
 * @example historyObservation(environment, 4);
 */
export function historyObservation<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  size: number,
): EnvironmentDefinition<WithObservation<C, z.ZodObject<C["resetObservation"]["shape"] & { history: History<C> }>>>;
export function historyObservation(environment: EnvironmentDefinition, size: number): EnvironmentDefinition {
  const { name, action, observation, toolsOnly } = environment.contract;
  if (!(Number.isSafeInteger(size) && size > 0)) throw new TypeError(`size must be a positive integer, got ${size}.`);
  if (toolsOnly) throw new TypeError(`${name} has no action of its own: historyObservation needs one.`);
  if ("history" in observation.shape) throw new TypeError(`The observation of ${name} already has a field "history".`);
  const schema = z.object({ ...observation.shape, history: z.array(z.object({ observation, action })) });
  const wrap = (env: Environment) => new HistoryObservation(env, size);
  return wrapEnvironment(environment, wrap, withObservation(environment.contract, schema));
}

function withObservation(contract: Contract, observation: ObjectSchema | undefined): Contract {
  if (observation === undefined) return contract;
  const { name, version, description, action, state, reset, tools, toolReward, toolsOnly } = contract;
  const common = { name, version, description, observation, state, reset, toolReward };
  const made = toolsOnly
    ? defineContract({ ...common, tools })
    : defineContract({ ...common, action, ...(Object.keys(tools).length > 0 && { tools }) } as never);
  return made as unknown as Contract;
}

interface TransformOptions {
  transform(observation: Shown<Contract>, action?: Action<Contract>): MaybePromise<Shown<Contract>>;
  /** The views are made of the inner observation. */
  showsInner: boolean;
}

class TransformObservation extends Wrapper {
  readonly #options: TransformOptions;
  /** The observation of the last result, and what became of it. */
  #last: { inner: ObservationInput<Contract>; shown: unknown } | undefined;

  constructor(env: Environment, options: TransformOptions) {
    super(env);
    this.#options = options;
  }

  override reset(request: ResetRequest): MaybePromise<Transition> {
    return after(super.reset(request), (result) => this.#apply(result));
  }

  override step(action: Action<Contract>, context: StepContext): MaybePromise<Transition> {
    return after(super.step(action, context), (result) => this.#apply(result, action));
  }

  override render(observation: ObservationInput<Contract>): MaybePromise<ViewPart[]> {
    const inner = this.#innerOf(observation);
    return inner === undefined ? [] : super.render(inner);
  }

  override actions(observation: ObservationInput<Contract>): MaybePromise<ActionChoice[]> {
    const inner = this.#innerOf(observation);
    return inner === undefined ? [] : super.actions(inner);
  }

  /** Undefined for an observation that an outer wrapper has changed: a view of the inner one could show what it removed. */
  #innerOf(observation: ObservationInput<Contract>): ObservationInput<Contract> | undefined {
    if (!this.#options.showsInner) return observation;
    return isDeepStrictEqual(observation, this.#last?.shown) ? this.#last?.inner : undefined;
  }

  #apply(result: Transition, action?: Action<Contract>): Transition | Promise<Transition> {
    // Validation reports an invalid result.
    if (!isObject(result) || !isObject(result.observation)) return result;
    const changed = this.#options.transform(result.observation, action);
    return after(changed, (observation) => {
      if (this.#options.showsInner) this.#last = { inner: result.observation, shown: observation };
      return { ...result, observation };
    });
  }
}

interface Entry {
  observation: Shown<Contract>;
  action: unknown;
}

class HistoryObservation extends TransformObservation {
  readonly #size: number;
  #history: Entry[] = [];
  #last: Shown<Contract> = {};

  constructor(env: Environment, size: number) {
    super(env, { transform: (observation, action) => this.#add(observation, action), showsInner: false });
    this.#size = size;
  }

  override render({ history: _, ...observation }: ObservationInput<Contract>): MaybePromise<ViewPart[]> {
    return super.render(observation);
  }

  override actions({ history: _, ...observation }: ObservationInput<Contract>): MaybePromise<ActionChoice[]> {
    return super.actions(observation);
  }

  protected override saveState(): Record<string, unknown> {
    return { history: this.#history, last: this.#last };
  }

  protected override loadState({ history, last }: Readonly<Record<string, unknown>>): void {
    this.#history = history as Entry[];
    this.#last = last as Shown<Contract>;
  }

  #add(observation: Shown<Contract>, action?: Action<Contract>): Shown<Contract> {
    // A reset has no action.
    this.#history =
      action === undefined ? [] : [...this.#history, { observation: this.#last, action }].slice(-this.#size);
    // The environment may change what it returned.
    this.#last = snapshot(observation);
    return { ...observation, history: this.#history };
  }
}
