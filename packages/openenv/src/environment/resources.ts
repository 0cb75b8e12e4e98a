import { EnvironmentError } from "../errors.js";
import { MAX_TIMER_MS } from "../util/async/timer.js";
import type { MaybePromise } from "../util/types.js";
import type { Environment, EnvironmentMetric, FactoryContext } from "./environment.js";
import type { HeldResources, Resource, ResourceScope } from "./resource.js";
import { Wrapper } from "./wrappers/wrapper.js";

interface Opened {
  readonly value: unknown;
  users: number;
  /** It failed its check: it closes after its last user. */
  isReplaced: boolean;
}

const TIMEOUT_MS = 60_000;
const SCOPES: readonly ResourceScope[] = ["server", "worker", "session"];

/** The resources of one environment in this process, for all its servers and sessions. */
export class Resources implements HeldResources {
  readonly #pools: readonly Pool[];
  /** Servers and sessions. Without any, nothing is open. */
  #users = 0;

  /** @throws TypeError naming the resource and the member. */
  constructor(declared: Readonly<Record<string, Resource>>) {
    this.#pools = Object.entries(declared).map(([name, resource]) => new Pool(name, resource));
  }

  get names(): Readonly<Record<ResourceScope, string[]>> {
    const of = (scope: ResourceScope) => this.#pools.filter((pool) => pool.scope === scope).map(({ name }) => name);
    return { server: of("server"), worker: of("worker"), session: of("session") };
  }

  async hold({ spares = true, isolated = false } = {}): Promise<AsyncDisposable> {
    const pools = this.#pools.filter(({ scope }) => scope === "server" || !isolated);
    if (spares) for (const pool of pools) pool.keepsSpares++;
    const leave = this.#enter(() => {
      if (spares) for (const pool of pools) pool.keepsSpares--;
    });
    try {
      await allOrFirstError(pools.map((pool) => pool.prepare()));
    } catch (error) {
      await leave().catch(() => {});
      throw error;
    }
    return { [Symbol.asyncDispose]: leave };
  }

  async shared(): Promise<Record<string, unknown>> {
    const pools = this.#pools.filter(({ scope }) => scope === "server");
    return Object.fromEntries(await Promise.all(pools.map(async (pool) => [pool.name, (await pool.take()).value])));
  }

  give(values: Readonly<Record<string, unknown>>): void {
    for (const pool of this.#pools) if (pool.name in values) pool.give(values[pool.name]);
  }

  /** Opens what one session needs, calls the factory, and closes it after the environment. */
  async create(
    context: Omit<FactoryContext, "resources">,
    factory: (context: FactoryContext) => MaybePromise<Environment>,
  ): Promise<Environment> {
    const leave = this.#enter();
    const taken: [Pool, Opened][] = [];
    const release = async (): Promise<void> => {
      try {
        await allOrFirstError(taken.splice(0).map(([pool, opened]) => pool.release(opened)));
      } finally {
        await leave();
      }
    };
    try {
      const values: Record<string, unknown> = {};
      const take = async (pool: Pool): Promise<void> => {
        const opened = await pool.take(context.signal);
        taken.push([pool, opened]);
        values[pool.name] = opened.value;
      };
      await allOrFirstError(this.#pools.map(take));
      const made = await factory(withResources(context, values));
      // The caller reports a value that is not an environment.
      if (typeof made?.reset === "function") return new UsesResources(made, release) as Environment;
      await release();
      return made;
    } catch (error) {
      // The first error is the one to report.
      await release().catch(() => {});
      throw error;
    }
  }

  get metrics(): Record<string, EnvironmentMetric> {
    const read = (count: (pool: Pool) => Record<string, number>, label: string): EnvironmentMetric["read"] => {
      return () =>
        this.#pools.flatMap((pool) =>
          Object.entries(count(pool)).map(([key, n]): [Record<string, string>, number] => [
            { resource: pool.name, [label]: key },
            n,
          ]),
        );
    };
    return {
      openenv_resources: {
        type: "gauge",
        help: "Open resources of the environment, by name and state.",
        read: read(({ used, spare }) => ({ used, spare }), "state"),
      },
      openenv_resource_opens_total: {
        type: "counter",
        help: "Attempts to open a resource, by name and result.",
        read: read(({ opens }) => opens, "result"),
      },
    };
  }

  #enter(onLeave?: () => void): () => Promise<void> {
    this.#users++;
    let left = false;
    return async () => {
      if (left) return;
      left = true;
      onLeave?.();
      if (--this.#users === 0) await allOrFirstError(this.#pools.map((pool) => pool.empty()));
    };
  }
}

/** One resource. */
class Pool {
  readonly name: string;
  readonly scope: ResourceScope;
  /** The servers that want spares. */
  keepsSpares = 0;
  readonly opens = { ok: 0, failed: 0 };
  #open = 0;
  /** The process of the server has opened it, and closes it. */
  #isGiven = false;
  readonly #resource: Resource;
  #spares: Promise<Opened>[] = [];
  #shared: Promise<Opened> | undefined;
  /** Aborts what opens for no session. */
  #unused = new AbortController();

  constructor(name: string, resource: Resource) {
    const { open, scope = "session", spares = 0, timeoutMs = TIMEOUT_MS } = resource;
    const refuse = (what: string): never => {
      throw new TypeError(`The resource "${name}" ${what}.`);
    };
    if (typeof open !== "function") refuse("needs a function open()");
    if (!SCOPES.includes(scope)) refuse(`must have the scope "server", "worker" or "session", got ${String(scope)}`);
    if (!(Number.isSafeInteger(spares) && spares >= 0))
      refuse(`must have spares as a non-negative integer, got ${spares}`);
    if (spares > 0 && scope !== "session") refuse(`has the scope "${scope}": only "session" can have spares`);
    if (!(timeoutMs > 0 && timeoutMs <= MAX_TIMER_MS)) refuse(`needs a positive timeoutMs, got ${timeoutMs}`);
    this.name = name;
    this.scope = scope;
    this.#resource = resource;
  }

  get spare(): number {
    return this.#spares.length;
  }

  get used(): number {
    return Math.max(0, this.#open - this.#spares.length);
  }

  async prepare(): Promise<void> {
    if (this.scope !== "session") await this.#share();
    else await allOrFirstError(this.#fill());
  }

  /** One for a session. */
  async take(signal?: AbortSignal): Promise<Opened> {
    if (this.scope !== "session") return this.#takeShared(signal);
    const next = this.#spares.shift();
    // A spare that cannot be opened is tried again by the next session.
    for (const one of this.#fill()) one.catch(() => this.#forget(one));
    const spare = next && (await untilAborted(next, signal).catch(() => undefined));
    if (signal?.aborted) void next?.then((late) => this.#end(late)).catch(() => {});
    if (spare === undefined || signal?.aborted) return this.#start(signal);
    if (await this.#works(spare)) return spare;
    await this.#end(spare);
    return this.#start(signal);
  }

  async release(opened: Opened): Promise<void> {
    opened.users--;
    if (this.scope === "session" || (opened.isReplaced && opened.users === 0)) await this.#end(opened);
  }

  give(value: unknown): void {
    this.#open++;
    this.#isGiven = true;
    this.#shared = Promise.resolve({ value, users: 1, isReplaced: false });
  }

  /** Closes what no session uses. */
  async empty(): Promise<void> {
    const left = [...this.#spares, ...(this.#shared ? [this.#shared] : [])];
    this.#spares = [];
    this.#shared = undefined;
    this.#unused.abort(new Error("no session needs it"));
    this.#unused = new AbortController();
    await allOrFirstError(left.map(async (one) => this.#end(await one.catch(() => undefined))));
  }

  async #takeShared(signal?: AbortSignal): Promise<Opened> {
    const known = this.#shared;
    let opened = await untilAborted(this.#share(), signal);
    // One that has just opened is not checked, so that a check that always fails ends here.
    if (known !== undefined && !opened.isReplaced && !(await this.#works(opened)) && !opened.isReplaced) {
      opened.isReplaced = true;
      this.#shared = undefined;
      if (opened.users === 0) await this.#end(opened);
    }
    if (opened.isReplaced) opened = await untilAborted(this.#share(), signal);
    opened.users++;
    return opened;
  }

  #share(): Promise<Opened> {
    if (this.#shared !== undefined) return this.#shared;
    const opening = this.#start(this.#unused.signal);
    this.#shared = opening;
    opening.catch(() => {
      if (this.#shared === opening) this.#shared = undefined;
    });
    return opening;
  }

  /** Starts the spares that are missing. */
  #fill(): Promise<Opened>[] {
    const { spares = 0 } = this.#resource;
    const missing = this.keepsSpares > 0 ? Math.max(0, spares - this.#spares.length) : 0;
    const started = Array.from({ length: missing }, () => this.#start(this.#unused.signal));
    this.#spares.push(...started);
    return started;
  }

  #forget(spare: Promise<Opened>): void {
    const at = this.#spares.indexOf(spare);
    if (at >= 0) this.#spares.splice(at, 1);
  }

  async #works({ value }: Opened): Promise<boolean> {
    const { check, timeoutMs = TIMEOUT_MS } = this.#resource;
    if (check === undefined || this.#isGiven) return true;
    try {
      const checked = (async () => this.#resource.check?.(value))();
      return (await untilAborted(checked, AbortSignal.timeout(timeoutMs))) === true;
    } catch {
      return false;
    }
  }

  async #start(signal?: AbortSignal): Promise<Opened> {
    const { timeoutMs = TIMEOUT_MS } = this.#resource;
    const limit = AbortSignal.timeout(timeoutMs);
    const either = signal === undefined ? limit : AbortSignal.any([limit, signal]);
    const opening = (async () => this.#resource.open(either))();
    try {
      const value = this.#checkShared(await untilAborted(opening, either));
      this.opens.ok++;
      this.#open++;
      return { value, users: 0, isReplaced: false };
    } catch (cause) {
      this.opens.failed++;
      // It may still open, or be open with a value that cannot be shared.
      void opening.then((late) => this.#resource.close?.(late)).catch(() => {});
      const reason = limit.aborted
        ? `did not open within ${timeoutMs / 1000} s`
        : `could not be opened: ${text(cause)}`;
      throw new EnvironmentError(`the resource "${this.name}" ${reason}`, { cause });
    }
  }

  /** Other processes get a copy, so that this one does as well. */
  #checkShared(value: unknown): unknown {
    if (this.scope !== "server") return value;
    const json = JSON.stringify(value) as string | undefined;
    if (json !== undefined) return JSON.parse(json);
    throw new Error('a resource of the scope "server" must be plain JSON, such as an address');
  }

  async #end(opened: Opened | undefined): Promise<void> {
    if (opened === undefined) return;
    this.#open--;
    if (!this.#isGiven) await this.#resource.close?.(opened.value);
  }
}

/** Releases the resources of a session after its environment. */
class UsesResources extends Wrapper {
  readonly #release: () => Promise<void>;

  constructor(env: Environment, release: () => Promise<void>) {
    super(env);
    this.#release = release;
  }

  override async close(): Promise<void> {
    try {
      await super.close();
    } finally {
      await this.#release();
    }
  }
}

/** The context of a factory with its resources. The signal is not read here, because it is created on first read. */
export function withResources(
  context: Omit<FactoryContext, "resources">,
  resources: Record<string, unknown>,
): FactoryContext {
  return {
    resources,
    wait: (work) => context.wait(work),
    traceparent: context.traceparent,
    get signal() {
      return context.signal;
    },
  };
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** Waits for all. @throws the first error. */
async function allOrFirstError(works: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
