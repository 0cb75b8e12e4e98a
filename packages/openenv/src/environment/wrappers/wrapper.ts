import type { Action, Contract, ObservationInput, StateInput } from "../../contract/contract.js";
import type { ToolCall, ToolContext, ToolHandlers, ToolTransition } from "../../contract/tools/tools.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { ViewPart } from "../../protocol/web.js";
import { isThenable } from "../../util/async/thenable.js";
import type { MaybePromise } from "../../util/types.js";
import type {
  ActionChoice,
  Environment,
  EnvironmentDefinition,
  ResetRequest,
  StepContext,
  Transition,
} from "../environment.js";

/** The state of an environment: the author's snapshot, and the state of the wrappers around it. */
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

/** What an environment may lack. A wrapper lacks it as well, unless it has its own. */
const OPTIONAL = ["afterTool", "render", "actions", "snapshot", "restore", "stateKey"] as const;

/**
 * An environment around another one, for {@link wrapEnvironment}. It passes every call on: a subclass overrides what it
 * changes and calls `super`. With its own state, it implements `saveState` and `loadState`, so that the session can still
 * be restored. `I` is the contract of the inner environment, if it differs: such a wrapper overrides `reset`, `step` and
 * what shows observations.
 * @example class Halved extends Wrapper<typeof counter> { … }
 */
export class Wrapper<C extends Contract = Contract, I extends Contract = C> {
  /** The inner environment. */
  protected readonly env: Environment<I>;
  readonly tools?: ToolHandlers<C["tools"]>;

  constructor(env: Environment<I>) {
    this.env = env;
    for (const name of ["snapshot", "restore"] as const) {
      if (this[name] === Wrapper.prototype[name]) continue;
      throw new TypeError(
        `${this.constructor.name} overrides ${name}(): implement saveState() and loadState() instead.`,
      );
    }
    const own = this as unknown as Record<string, unknown>;
    for (const name of OPTIONAL) {
      if (env[name] === undefined && this[name] === Wrapper.prototype[name]) own[name] = undefined;
    }
    // The caller reports a missing method.
    if (env.step === undefined) own["step"] = undefined;
    if (env.tools === undefined) return;
    const isPlain = this.callTool === Wrapper.prototype.callTool;
    this.tools = (isPlain ? env.tools : this.#handlers(namesOf(env.tools))) as ToolHandlers<C["tools"]>;
  }

  reset(request: ResetRequest<C>): MaybePromise<Transition<C>> {
    return this.env.reset(request as never) as never;
  }

  step(action: Action<C>, context: StepContext): MaybePromise<Transition<C>> {
    return this.env.step(action as never, context) as never;
  }

  state(): MaybePromise<StateInput<C>> {
    return (this.env.state?.() ?? {}) as never;
  }

  close(): MaybePromise<void> {
    return this.env.close?.();
  }

  afterTool(call: ToolCall, context: ToolContext): MaybePromise<ToolTransition> {
    return this.env.afterTool?.(call, context) ?? {};
  }

  render(observation: ObservationInput<C>): MaybePromise<ViewPart[]> {
    return this.env.render?.(observation as never) ?? [];
  }

  actions(observation: ObservationInput<C>): MaybePromise<ActionChoice<C>[]> {
    return (this.env.actions?.(observation as never) ?? []) as never;
  }

  snapshot(): MaybePromise<unknown> {
    return this.env.snapshot?.();
  }

  restore(snapshot: unknown): MaybePromise<void> {
    return this.env.restore?.(snapshot);
  }

  stateKey(): MaybePromise<unknown> {
    return this.env.stateKey?.();
  }

  /** Calls the handler of a tool with its checked arguments. */
  protected callTool(name: string, input: object, context: ToolContext): MaybePromise<unknown> {
    return (this.env.tools as ToolHandlers | undefined)?.[name]?.(input as never, context);
  }

  /** The state of this wrapper as plain JSON; the inner environment saves its own. */
  protected saveState(): Record<string, unknown> | undefined {
    return undefined;
  }

  /** Continues from the result of {@link saveState}. */
  protected loadState(_state: Readonly<Record<string, unknown>>): void {}

  get [saver](): Saver {
    return {
      save: () => {
        const state = this.saveState();
        const add = ({ snapshot, more: inner }: SavedEnvironment): SavedEnvironment => ({
          snapshot,
          more: { ...(state !== undefined && { state }), ...(inner !== undefined && { inner }) },
        });
        const saved = saveAll(this.env as Environment);
        return isThenable(saved) ? saved.then(add) : add(saved);
      },
      load: async ({ snapshot, more }) => {
        await restoreAll(this.env as Environment, { snapshot, more: more?.["inner"] as JsonObject | undefined });
        if (more?.["state"] !== undefined) this.loadState(more["state"] as JsonObject);
      },
    };
  }

  #handlers(names: string[]): ToolHandlers {
    const handler = (name: string) => (input: object, context: ToolContext) => this.callTool(name, input, context);
    return Object.fromEntries(names.map((name) => [name, handler(name)])) as ToolHandlers;
  }
}

/** The names of the handlers, also of those that a class has. */
function namesOf(tools: object): string[] {
  const names = new Set<string>();
  for (let from = tools; from !== null && from !== Object.prototype; from = Object.getPrototypeOf(from)) {
    for (const name of Object.getOwnPropertyNames(from)) names.add(name);
  }
  names.delete("constructor");
  return [...names];
}

/** Closes what a factory has created, when it cannot be used. @throws the reason. */
export async function closeAndThrow(made: Environment | undefined, reason: unknown): Promise<never> {
  try {
    await made?.close?.();
  } catch {
    // The first error is the one to report.
  }
  throw reason;
}

/** Calls `snapshot()`, and adds what is kept around the author's environment. */
export function saveAll(environment: Savable): MaybePromise<SavedEnvironment> {
  if (environment[saver] !== undefined) return environment[saver].save();
  const snapshot = environment.snapshot?.();
  return isThenable(snapshot) ? snapshot.then((late) => ({ snapshot: late })) : { snapshot };
}

/** Hands a snapshot to an environment that was just created. */
export async function restoreAll(environment: Savable, saved: SavedEnvironment): Promise<void> {
  await (environment[saver]?.load(saved) ?? environment.restore?.(saved.snapshot));
}

type Savable = Environment & { [saver]?: Saver };

/**
 * The environment with a wrapper around each session. Everything else is that of the inner one: tasks, options and,
 * unless it is given, the contract.
 * @throws TypeError for an environment that passes its messages on to another server.
 * @example wrapEnvironment(environment, (env) => new Halved(env));
 */
export function wrapEnvironment<C extends Contract>(
  environment: EnvironmentDefinition<C>,
  wrap: (env: Environment<C>) => Wrapper<C>,
): EnvironmentDefinition<C>;
export function wrapEnvironment<C extends Contract, D extends Contract>(
  environment: EnvironmentDefinition<C>,
  wrap: (env: Environment<C>) => Wrapper<D, C>,
  contract: D,
): EnvironmentDefinition<D>;
export function wrapEnvironment(
  environment: EnvironmentDefinition,
  wrap: (env: Environment) => Wrapper,
  contract: Contract = environment.contract,
): EnvironmentDefinition {
  if (environment.passesOn === true) {
    throw new TypeError(`${contract.name} passes messages on to another server: wrap the environment of that server.`);
  }
  const wrapMade = (made: Environment): MaybePromise<Environment> => {
    // The caller reports a value that is not an environment.
    if (typeof made?.reset !== "function") return made;
    try {
      return wrap(made) as Environment;
    } catch (error) {
      return closeAndThrow(made, error);
    }
  };
  return {
    ...environment,
    contract,
    create: (context) => {
      const made = environment.create(context);
      return isThenable(made) ? made.then(wrapMade) : wrapMade(made);
    },
  };
}
