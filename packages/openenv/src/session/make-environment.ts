import type { Environment, EnvironmentDefinition } from "../environment/environment.js";
import { isThenable } from "../util/async/thenable.js";
import { describeError, toError } from "./failure.js";
import type { Runtime } from "./runtime.js";
import { SessionRejectedError } from "./session-rejected-error.js";

/** An environment that is not made by then is given up: its slot must not be lost. */
const LIMIT_MS = 120_000;

/** Calls the factory. @throws Refusal (FACTORY_ERROR), or rejects with it, when no environment comes of it. */
export function makeEnvironment(runtime: Runtime): Environment | Promise<Environment> {
  const refuse = (error: unknown): never => {
    const { name } = runtime.definition.contract;
    runtime.log.error({ err: toError(error) }, `the factory of ${name} failed`);
    const message = `The factory of "${name}" failed: ${describeError(error, runtime.mode)}`;
    throw new SessionRejectedError({ message, code: "FACTORY_ERROR", factory_name: name }, { cause: error });
  };
  try {
    const made = createChecked(runtime.definition);
    return isThenable(made) ? withLimit(Promise.resolve(made), runtime).catch(refuse) : made;
  } catch (error) {
    return refuse(error);
  }
}

/** Calls the factory and looks whether what it made can be played. @throws TypeError, or what the factory threw. */
export function createChecked(definition: EnvironmentDefinition): Environment | Promise<Environment> {
  const made = definition.create();
  if (!isThenable(made)) return checkMembers(made, definition);
  return Promise.resolve(made).then((late) => checkMembers(late, definition));
}

function checkMembers(made: Environment, { contract }: EnvironmentDefinition): Environment {
  for (const method of contract.toolsOnly ? (["reset"] as const) : (["reset", "step"] as const)) {
    if (typeof made?.[method] === "function") continue;
    throw new TypeError(`it must return an object with reset() and step(), and there is no ${method}()`);
  }
  for (const name in contract.tools) {
    if (typeof made.tools?.[name] === "function") continue;
    throw new TypeError(`it must return a handler for each tool of the contract, and there is no tools.${name}()`);
  }
  return made;
}

function withLimit(work: Promise<Environment>, runtime: Runtime): Promise<Environment> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`it did not finish within ${LIMIT_MS / 1000} s`));
      void closeLate(work, runtime);
    }, LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Nobody else knows of an environment that was given up while it was made. */
async function closeLate(work: Promise<Environment>, { log }: Runtime): Promise<void> {
  try {
    await (await work).close?.();
  } catch (error) {
    log.error({ err: toError(error) }, "an environment that was not made in time failed");
  }
}
