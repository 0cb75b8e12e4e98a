import type { Environment, EnvironmentDefinition } from "../../environment/environment.js";
import { type Saver, saver } from "../../environment/wrappers/wrapper.js";
import { isThenable } from "../../util/async/thenable.js";

/** A call that a check makes into code of the author. */
export interface WatchedCall {
  /** Such as `reset`, `tools.add`, `create` for the factory, or `tasks.get`. */
  name: string;
  args: unknown[];
  run(): unknown;
}

export type Watch = (call: WatchedCall) => unknown;

/** A definition whose factory, environments, tools and task provider are called through `watch`. */
export function watchCalls(definition: EnvironmentDefinition, watch: Watch): EnvironmentDefinition {
  const watchObject = <T extends object>(target: T, prefix = ""): T =>
    new Proxy(target, {
      get: (_, key) => {
        const member: unknown = Reflect.get(target, key);
        if (key === saver) return watchSaver(member as Saver | undefined, watch);
        if (key === "tools" && typeof member === "object" && member !== null) return watchObject(member, "tools.");
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown =>
          watch({ name: `${prefix}${String(key)}`, args, run: () => member.apply(target, args) as unknown });
      },
    });
  const made = (environment: unknown): unknown =>
    typeof environment === "object" && environment !== null ? watchObject(environment) : environment;
  return {
    ...definition,
    ...(definition.tasks !== undefined && { tasks: watchObject(definition.tasks, "tasks.") }),
    create: (context) => {
      const created = watch({ name: "create", args: [], run: () => definition.create(context) });
      return (isThenable(created) ? created.then(made) : made(created)) as Environment;
    },
  };
}

/** A rubric or a limit around the environment saves more than its snapshot. */
function watchSaver(of: Saver | undefined, watch: Watch): Saver | undefined {
  return (
    of && {
      save: () => watch({ name: "snapshot", args: [], run: () => of.save() }) as ReturnType<Saver["save"]>,
      load: (saved) =>
        watch({ name: "restore", args: [saved], run: () => of.load(saved) }) as ReturnType<Saver["load"]>,
    }
  );
}

/**
 * Ends each asynchronous call after `timeoutMs` with an error, and calls `late` with its name. A call that blocks the
 * thread cannot be ended from within it.
 */
export function limitCalls(timeoutMs: number, late: (name: string) => void): Watch {
  return ({ name, run }) => {
    const returned = run();
    if (!isThenable(returned)) return returned;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        late(name);
        reject(new Error(`no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      Promise.resolve(returned)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  };
}
