import type { ToolHandlers, ToolTransition } from "../../contract/tools/tools.js";
import type {
  ActionChoice,
  Environment,
  ResetRequest,
  StepContext,
  Transition,
} from "../../environment/environment.js";
import type { ViewPart } from "../../protocol/web.js";
import { SessionKilledError } from "../session-killed.js";
import { type Host, START_LIMIT_MS, type Tenant } from "./host.js";
import type { Created, HostedToolCall } from "./messages.js";
import type { Pool } from "./pool.js";

/** How long an environment may take to close; one that has not come back from its last call gets less. */
const CLOSE_LIMIT_MS = 5_000;
const BUSY_CLOSE_LIMIT_MS = 1_000;

let lastNumber = 0;

export interface RemoteOptions {
  /** The names of the tools. */
  tools: readonly string[];
  stepTimeoutMs: number | undefined;
}

/** Makes one environment in a host of the pool. @throws what the factory threw, SessionKilledError. */
export async function createRemoteEnvironment(
  pool: Pool,
  { tools, stepTimeoutMs }: RemoteOptions,
): Promise<Environment> {
  const host = await pool.acquire();
  const remote = new RemoteEnvironment(host, pool, stepTimeoutMs);
  const limitMs = Math.max(START_LIMIT_MS, stepTimeoutMs ?? 0);
  try {
    const { has } = (await host.request(remote, { method: "create", limitMs })) as Created;
    remote.offer(tools, has);
  } catch (error) {
    // It may still be made, and is closed then; nobody waits for that.
    host.request(remote, { method: "close" }).catch(() => {});
    await remote.leave();
    throw error;
  }
  return remote;
}

/** An environment that lives in a host, as the session sees it. */
export class RemoteEnvironment implements Environment, Tenant {
  readonly number = ++lastNumber;
  tools?: ToolHandlers;
  afterTool?: NonNullable<Environment["afterTool"]>;
  render?: NonNullable<Environment["render"]>;
  actions?: NonNullable<Environment["actions"]>;
  /** Told once when the environment is gone without having been closed; at once when it already is. */
  #onKilled: ((error: SessionKilledError) => void) | undefined;
  readonly #host: Host;
  readonly #pool: Pool;
  readonly #stepTimeoutMs: number | undefined;
  #killed: SessionKilledError | undefined;
  #calls = 0;
  #left = false;

  constructor(host: Host, pool: Pool, stepTimeoutMs: number | undefined) {
    this.#host = host;
    this.#pool = pool;
    this.#stepTimeoutMs = stepTimeoutMs;
    host.tenants.add(this);
  }

  set onKilled(listener: (error: SessionKilledError) => void) {
    this.#onKilled = listener;
    if (this.#killed !== undefined) listener(this.#killed);
  }

  killed(error: SessionKilledError): void {
    this.#killed = error;
    this.#onKilled?.(error);
  }

  async reset({ signal, ...input }: ResetRequest): Promise<Transition> {
    return (await this.#call({ method: "reset", input, signal })) as Transition;
  }

  async step(action: unknown, call: StepContext): Promise<Transition> {
    const { metadata, timeoutMs, requestId, signal } = call;
    const context = { metadata, timeoutMs, requestId };
    return (await this.#call({ method: "step", input: action, context, signal })) as Transition;
  }

  /** Lets what the environment has beside its reset and step be called. */
  offer(tools: readonly string[], has: Created["has"]): void {
    if (tools.length > 0) this.tools = Object.fromEntries(tools.map((name) => [name, this.#handler(name)]));
    if (tools.length > 0 && has.includes("afterTool")) {
      this.afterTool = async (call, { signal }) =>
        (await this.#call({ method: "afterTool", input: call, signal })) as ToolTransition;
    }
    if (has.includes("render")) {
      this.render = async (input) => (await this.#call({ method: "render", input })) as ViewPart[];
    }
    if (has.includes("actions")) {
      this.actions = async (input) => (await this.#call({ method: "actions", input })) as ActionChoice[];
    }
  }

  async state(): Promise<Record<string, unknown>> {
    return (await this.#call({ method: "state" })) as Record<string, unknown>;
  }

  async close(): Promise<void> {
    try {
      await this.#host.request(this, { method: "close", limitMs: this.#closeLimit() });
    } catch (error) {
      if (!(error instanceof SessionKilledError)) throw error;
    } finally {
      await this.leave();
    }
  }

  /** Gives the place in the host back. */
  async leave(): Promise<void> {
    if (this.#left) return;
    this.#left = true;
    this.#onKilled = undefined;
    this.#host.tenants.delete(this);
    await this.#pool.release(this.#host);
  }

  #handler(name: string): ToolHandlers[string] {
    return (input, { signal }) =>
      this.#call({ method: "tool", input: { name, input } satisfies HostedToolCall, signal });
  }

  async #call(request: Omit<Parameters<Host["request"]>[1], "limitMs">): Promise<unknown> {
    if (this.#killed !== undefined) throw this.#killed;
    this.#calls++;
    try {
      return await this.#host.request(this, { ...request, limitMs: this.#stepTimeoutMs });
    } finally {
      this.#calls--;
    }
  }

  /** In a shared host others may rightly be at work for longer than this one's close. */
  #closeLimit(): number | undefined {
    if (this.#pool.shared) return this.#stepTimeoutMs;
    return this.#calls > 0 ? BUSY_CLOSE_LIMIT_MS : CLOSE_LIMIT_MS;
  }
}
