import type { Contract, ObservationInput } from "../contract/contract.js";
import type { MaybePromise } from "../util/types.js";
import {
  definitionMark,
  type Environment,
  type EnvironmentDefinition,
  type EnvironmentOptions,
  type FactoryContext,
  type Made,
} from "./environment.js";
import { checkEpisodeLimits } from "./episode-limits.js";
import { manage } from "./managed-environment.js";
import { Resources, withResources } from "./resources.js";
import type { Task } from "./tasks/tasks.js";

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
/** A snapshot that nothing restores, or the reverse, is an error that names the missing method. */
type Restorable<E> = E extends { snapshot: () => infer S }
  ? E extends { restore: (snapshot: Awaitable<S>) => unknown }
    ? unknown
    : { restore: (snapshot: Awaitable<S>) => MaybePromise<void> }
  : E extends { restore: unknown }
    ? { snapshot: () => unknown }
    : unknown;
/**
 * TypeScript allows functions to return undeclared fields; this type turns such a field into an error that names it.
 */
type OnlyDeclared<C extends Contract, E extends Made<C>> = [Undeclared<C, E>] extends [never]
  ? unknown
  : { step: `the observation has a field that the contract does not declare: ${Undeclared<C, E> & string}` };

/**
 * Combines a contract with a factory; each call of the factory creates one isolated session.
 * @throws TypeError for an instance or a class instead of a factory, an invalid episode limit, version, metric or `sharesState`, or a
 * reset option named `task` together with a task provider.
 * @example defineEnvironment(counter, () => new CounterEnvironment());
 */
export function defineEnvironment<
  C extends Contract,
  E extends Made<C, T>,
  T extends Task = Task,
  R extends object = Record<never, never>,
>(
  contract: C,
  factory: (context: FactoryContext<R>) => MaybePromise<E & OnlyDeclared<C, E> & Restorable<E>>,
  options: EnvironmentOptions<T, R> = {},
): EnvironmentDefinition<C> {
  checkFactory(factory);
  checkEpisodeLimits(options);
  checkMetrics(options.metrics);
  const { snapshotVersion = 1, history = 1, sharesState } = options;
  if (sharesState !== undefined && sharesState !== "no" && sharesState !== "process") {
    throw new TypeError(`sharesState must be "no" or "process", got ${JSON.stringify(sharesState)}.`);
  }
  for (const [name, value] of Object.entries({ snapshotVersion, history })) {
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new TypeError(`${name} must be a positive integer, got ${value}.`);
  }
  if (options.tasks !== undefined && "task" in contract.reset.shape) {
    throw new TypeError(
      `The reset option "task" is reserved: with a task provider, reset receives the task under this name.`,
    );
  }
  const { resources: declared, ...rest } = options as EnvironmentOptions;
  const manages = manage(factory as (context: FactoryContext) => MaybePromise<never>, rest);
  const resources = declared && new Resources(declared);
  const create = resources
    ? (context: Omit<FactoryContext, "resources">) => resources.create(context, manages)
    : (context: Omit<FactoryContext, "resources">) => manages(withResources(context, {}));
  return {
    ...rest,
    contract,
    ...(resources && { resources, metrics: { ...options.metrics, ...resources.metrics } }),
    supportsConcurrentSessions: options.supportsConcurrentSessions ?? true,
    stepBeforeReset: options.stepBeforeReset ?? "error",
    snapshotVersion,
    create: (context = { signal: new AbortController().signal, wait: async (work) => work }) =>
      create(context) as MaybePromise<Environment<C>>,
    [definitionMark]: true,
  };
}

function checkMetrics(metrics: EnvironmentOptions["metrics"] = {}): void {
  const wrong = Object.keys(metrics).find((name) => !/^(?!openenv_|process_)[a-z][a-z0-9_]*$/.test(name));
  if (wrong === undefined) return;
  throw new TypeError(
    `The metric "${wrong}" must have lower-case letters, digits and underscores, and not begin with openenv_ or process_.`,
  );
}

function checkFactory(factory: unknown): void {
  if (typeof factory !== "function") {
    throw new TypeError(
      "defineEnvironment needs a factory that creates one session per call: write " +
        "`defineEnvironment(contract, () => new MyEnvironment())`, not an instance.",
    );
  }
  if (/^class\b/.test(Function.prototype.toString.call(factory))) {
    throw new TypeError(
      `defineEnvironment needs a factory, got the class ${factory.name}: write ` +
        `\`defineEnvironment(contract, () => new ${factory.name}())\`.`,
    );
  }
}
