import type { Environment, EnvironmentDefinition, FactoryContext } from "../environment/environment.js";
import { closeAndThrow } from "../environment/wrappers/wrapper.js";
import { errorData } from "../protocol/messages.js";
import { isThenable } from "../util/async/thenable.js";
import { describeError, faultOf, toError } from "./failure.js";
import type { Runtime } from "./runtime.js";
import { SessionRejectedError } from "./session-rejected-error.js";

/** Time limit for the factory, so that a hanging factory does not occupy a slot forever. */
const LIMIT_MS = 120_000;

/** What a factory receives for one session. The signal is created on first read, because most factories do not need it. */
export class FactoryCall implements Omit<FactoryContext, "resources"> {
  readonly wait: FactoryContext["wait"];
  readonly traceparent: string | undefined;
  #controller: AbortController | undefined;
  #aborted: string | undefined;

  constructor(wait: FactoryContext["wait"] = async (work) => work, traceparent?: string) {
    this.wait = wait;
    this.traceparent = traceparent;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted !== undefined) this.#controller.abort(new Error(this.#aborted));
    return this.#controller.signal;
  }

  /** Every session ends with this, so the error, which costs a stack trace, is only made for a signal that was read. */
  abort(reason: string): void {
    this.#aborted ??= reason;
    this.#controller?.abort(new Error(this.#aborted));
  }
}

/**
 * Calls the factory. @throws SessionRejectedError (FACTORY_ERROR, or CAPACITY_REACHED after it has waited), or rejects with it,
 * when the factory fails.
 */
export function makeEnvironment(runtime: Runtime, call = new FactoryCall()): Environment | Promise<Environment> {
  const refuse = (error: unknown): never => {
    if (error instanceof SessionRejectedError) throw error;
    const { name } = runtime.definition.contract;
    const fault = faultOf(error);
    runtime.log.error({ err: toError(error), fault }, `the factory of ${name} failed`);
    const message = `The factory of "${name}" failed: ${describeError(error, runtime.mode)}`;
    throw new SessionRejectedError(errorData("FACTORY_ERROR", message, { factory_name: name, fault }), {
      cause: error,
    });
  };
  try {
    const made = createChecked(runtime.definition, call);
    return isThenable(made) ? withLimit(Promise.resolve(made), runtime, call).catch(refuse) : made;
  } catch (error) {
    return refuse(error);
  }
}

/** Calls the factory and checks the methods of its result. @throws TypeError, or the factory's error. */
export function createChecked(
  definition: EnvironmentDefinition,
  context?: FactoryCall,
): Environment | Promise<Environment> {
  const made = definition.create(context);
  const check = (env: Environment): Environment | Promise<Environment> => {
    try {
      return checkMembers(env, definition);
    } catch (error) {
      return closeAndThrow(env, error);
    }
  };
  return isThenable(made) ? Promise.resolve(made).then(check) : check(made);
}

function checkMembers(made: Environment, { contract }: EnvironmentDefinition): Environment {
  for (const method of contract.toolsOnly ? (["reset"] as const) : (["reset", "step"] as const)) {
    if (typeof made?.[method] === "function") continue;
    throw new TypeError(`it must return an object with reset() and step(), but ${method}() is missing`);
  }
  if ((made.snapshot === undefined) !== (made.restore === undefined)) {
    const [has, lacks] = made.snapshot === undefined ? ["restore", "snapshot"] : ["snapshot", "restore"];
    throw new TypeError(
      `it must return an object with both snapshot() and restore(), but it has only ${has}(): add ${lacks}()`,
    );
  }
  for (const name in contract.tools) {
    if (typeof made.tools?.[name] === "function") continue;
    throw new TypeError(`it must return a handler for each tool of the contract, but tools.${name}() is missing`);
  }
  return made;
}

function withLimit(work: Promise<Environment>, runtime: Runtime, call: FactoryCall): Promise<Environment> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const reason = `it did not finish within ${LIMIT_MS / 1000} s`;
      reject(new Error(reason));
      call.abort(reason);
      void closeUnused(work, runtime);
    }, LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Closes an environment that no session uses: it was created after the time limit, or to try the factory. */
export async function closeUnused(work: Promise<Environment>, { log }: Runtime): Promise<void> {
  try {
    await (await work).close?.();
  } catch (error) {
    log.error({ err: toError(error) }, "an environment that no session uses failed");
  }
}
