import type { ToolHandlers, ToolTransition } from "#core/contract/tools/tools.js";
import type { ActionChoice, Environment, ResetRequest, Transition } from "#core/environment/environment.js";
import { type Hosted, hosted } from "#core/environment/environment-host.js";
import { type SavedEnvironment, type Saver, saver } from "#core/environment/wrappers/wrapper.js";
import type { ViewPart } from "#core/protocol/web.js";
import { type Call, ResetContext } from "#core/session/calls/call.js";
import { SessionKilledError } from "#core/session/session-killed.js";
import { type Isolate, type IsolateClient, START_LIMIT_MS } from "./isolate.js";
import type { Created, IsolateToolCall } from "./messages.js";
import type { IsolatePool } from "./pool.js";

/** Time limit for closing an environment; shorter if a call is still running. */
const CLOSE_LIMIT_MS = 5_000;
const BUSY_CLOSE_LIMIT_MS = 1_000;

let lastNumber = 0;

export interface IsolatedEnvironmentOptions {
  /** The names of the tools. */
  tools: readonly string[];
  stepTimeoutMs: number | undefined;
}

/** Creates one environment in an isolate of the pool. Rejects with the factory's error or with SessionKilledError. */
export async function createIsolatedEnvironment(
  pool: IsolatePool,
  { tools, stepTimeoutMs }: IsolatedEnvironmentOptions,
): Promise<Hosted> {
  const isolate = await pool.acquire();
  const remote = new IsolatedEnvironment(isolate, pool, stepTimeoutMs);
  const limitMs = Math.max(START_LIMIT_MS, stepTimeoutMs ?? 0);
  try {
    const { has } = (await isolate.request(remote, { method: "create", limitMs })) as Created;
    remote.offer(tools, has);
  } catch (error) {
    // The isolate may still create it, and then closes it; do not wait for that.
    isolate.request(remote, { method: "close" }).catch(() => {});
    await remote.leave();
    throw error;
  }
  return remote;
}

/** The proxy of an environment that runs in an isolate. */
class IsolatedEnvironment implements Hosted, IsolateClient {
  readonly [hosted] = true;
  readonly number = ++lastNumber;
  tools?: ToolHandlers;
  afterTool?: NonNullable<Environment["afterTool"]>;
  render?: NonNullable<Environment["render"]>;
  actions?: NonNullable<Environment["actions"]>;
  snapshot?: NonNullable<Environment["snapshot"]>;
  restore?: NonNullable<Environment["restore"]>;
  stateKey?: NonNullable<Environment["stateKey"]>;
  readonly [saver]: Saver = {
    save: async () => (await this.#call({ method: "snapshot" })) as SavedEnvironment,
    load: async (saved) => void (await this.#call({ method: "restore", input: saved })),
  };
  #onLost: ((reason: string) => void) | undefined;
  readonly #isolate: Isolate;
  readonly #pool: IsolatePool;
  readonly #stepTimeoutMs: number | undefined;
  #killed: SessionKilledError | undefined;
  #calls = 0;
  #left = false;

  constructor(isolate: Isolate, pool: IsolatePool, stepTimeoutMs: number | undefined) {
    this.#isolate = isolate;
    this.#pool = pool;
    this.#stepTimeoutMs = stepTimeoutMs;
    isolate.clients.add(this);
  }

  onLost(listener: (reason: string) => void): void {
    this.#onLost = listener;
    if (this.#killed !== undefined) listener(this.#killed.message);
  }

  get lost(): string | undefined {
    return this.#killed?.message;
  }

  killed(error: SessionKilledError): void {
    this.#killed = error;
    this.#onLost?.(error.message);
  }

  async reset(request: ResetRequest): Promise<Transition> {
    const call = ResetContext.callOf(request);
    return (await this.#call({ method: "reset", input: { ...request }, signal: call.signal, call })) as Transition;
  }

  async step(action: unknown, call: Call): Promise<Transition> {
    const { metadata, timeoutMs, requestId, signal } = call;
    const context = { metadata, timeoutMs, requestId };
    return (await this.#call({ method: "step", input: action, context, signal, call })) as Transition;
  }

  /** Adds the tools and optional methods that the environment has. */
  offer(tools: readonly string[], has: Created["has"]): void {
    if (tools.length > 0) this.tools = Object.fromEntries(tools.map((name) => [name, this.#handler(name)]));
    if (tools.length > 0 && has.includes("afterTool")) {
      this.afterTool = async (input, context) => {
        const call = context as Call;
        return (await this.#call({ method: "afterTool", input, signal: call.signal, call })) as ToolTransition;
      };
    }
    if (has.includes("render")) {
      this.render = async (input) => (await this.#call({ method: "render", input })) as ViewPart[];
    }
    if (has.includes("actions")) {
      this.actions = async (input) => (await this.#call({ method: "actions", input })) as ActionChoice[];
    }
    if (has.includes("snapshot")) {
      this.snapshot = async () => (await this[saver].save()).snapshot;
      this.restore = (snapshot) => this[saver].load({ snapshot });
    }
    if (has.includes("stateKey")) this.stateKey = () => this.#call({ method: "stateKey" });
  }

  async state(): Promise<Record<string, unknown>> {
    return (await this.#call({ method: "state" })) as Record<string, unknown>;
  }

  async close(): Promise<void> {
    try {
      await this.#isolate.request(this, { method: "close", limitMs: this.#closeLimit() });
    } catch (error) {
      if (!(error instanceof SessionKilledError)) throw error;
    } finally {
      await this.leave();
    }
  }

  /** Releases the slot in the isolate. */
  async leave(): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    this.#onLost = undefined;
    this.#isolate.clients.delete(this);
    await this.#pool.release(this.#isolate);
  }

  #handler(name: string): ToolHandlers[string] {
    return (input, context) => {
      const call = context as Call;
      const given: IsolateToolCall = { name, input };
      return this.#call({ method: "tool", input: given, signal: call.signal, call });
    };
  }

  async #call(request: Omit<Parameters<Isolate["request"]>[1], "limitMs">): Promise<unknown> {
    if (this.#killed !== undefined) throw this.#killed;
    this.#calls++;
    try {
      return await this.#isolate.request(this, { ...request, limitMs: this.#stepTimeoutMs });
    } finally {
      this.#calls--;
    }
  }

  /** In a shared isolate, calls of other sessions may legitimately delay the close. */
  #closeLimit(): number | undefined {
    if (this.#pool.shared) return this.#stepTimeoutMs;
    return this.#calls > 0 ? BUSY_CLOSE_LIMIT_MS : CLOSE_LIMIT_MS;
  }
}
