import type { ResetOptions } from "../protocol/codec/codec.js";
// The entry is imported, so that the declarations of a program can name these types.
import type { JsonObject, MetadataBody, SchemaBody } from "../protocol/index.js";
import type { AgentAccess } from "./agent-access.js";
import type { ClientContract, GenericContract, Received, ReceivedByReset, Sent } from "./contract/contract.js";
import type { Shape } from "./contract/shape.js";
import { createOperations, type Operation } from "./operations.js";
import type { CallOptions, ForkOptions, StepOptions } from "./options.js";
import { type EpisodeState, type FailedResult, linkTo, type StepResult, toFailedResult } from "./result.js";
import type { TaskClient } from "./tasks.js";
import { type CallTool, callByStep, createToolMethods, type ToolMethods } from "./tools/tool-methods.js";
import { traced } from "./tracing.js";
import type { ClientSession } from "./transport/session.js";

/**
 * One session of an environment. Calls are answered in the order in which they were made.
 * Calls reject with RemoteError (the server answered with an error; the session continues) or
 * ConnectionError (no answer; after SESSION_LOST only `reset` works, on a new session).
 */
export interface EnvClient<C extends ClientContract = GenericContract> extends AsyncDisposable {
  /** `http://host:port/prefix`; `in-process:<name>` without a server. */
  readonly url: string;
  /** True when the episode is lost: `step` and `state` are rejected until a `reset` succeeds. */
  readonly sessionLost: boolean;
  readonly tasks: TaskClient;
  /** The tools of the environment as methods; a call is a step. Empty if the server does not publish its tools. */
  readonly tools: ToolMethods<C>;
  /** Starts an episode; after a loss, on a new session. */
  reset(options?: ResetOptions & Sent<C["reset"]>, call?: CallOptions): Promise<StepResult<ReceivedByReset<C>>>;
  /** Does the same as `reset`, but a failure is a result with `outcome` `env_error` or `lost`, to be masked. */
  tryReset(
    options?: ResetOptions & Sent<C["reset"]>,
    call?: CallOptions,
  ): Promise<StepResult<ReceivedByReset<C>> | FailedResult>;
  step(action: Sent<C["action"]>, call?: StepOptions): Promise<StepResult<Received<C["observation"]>>>;
  /** Does the same as `step`, but a failure is a result with `outcome` `env_error` or `lost`, to be masked. */
  tryStep(
    action: Sent<C["action"]>,
    call?: StepOptions,
  ): Promise<StepResult<Received<C["observation"]>> | FailedResult>;
  state(call?: CallOptions): Promise<EpisodeState & Received<C["state"]>>;
  /**
   * Opens copies of the session, all or none: each continues from here, in the same episode. The copies are closed by
   * the caller. Needs the option `resume`, except in process, and an environment that can be restored.
   * @throws RemoteError NOT_RESTORABLE, CAPACITY_REACHED and others; ConfigError without `resume`.
   */
  fork(count: number, options?: ForkOptions): Promise<EnvClient<C>[]>;
  /**
   * The episode after one of its events, which the `event` of a result names: the resets, steps and tool calls of the
   * session, from 1.
   */
  at(event: number): {
    /** Opens copies from after the event. @throws RemoteError EVENT_NOT_KEPT, and the errors of `fork`. */
    fork(count: number, options?: ForkOptions): Promise<EnvClient<C>[]>;
  };
  /**
   * Lets an agent join the session over MCP. Its tool calls are steps from now on; an environment without tools has one
   * for its action.
   * @throws RemoteError FORBIDDEN without the orchestrator's token; ConnectionError PROTOCOL_ERROR when the server is the
   * Python package; ConfigError in process.
   * @example
   * const { url, headers, episode } = await env.openToAgent();
   */
  openToAgent(): Promise<AgentAccess>;
  /** The environment's name, description and version. */
  metadata(): Promise<MetadataBody>;
  /** The JSON Schemas of the environment and, from a server of this package, its tools. */
  schemas(): Promise<SchemaBody>;
  /** Ends the session; pending calls reject with CLIENT_CLOSED. Can be called more than once. */
  close(): Promise<void>;
}

/** The parts that a client is made of. */
export interface ClientParts {
  url: string;
  session: ClientSession;
  shape: Shape;
  tasks: TaskClient;
  metadata(): Promise<MetadataBody>;
  schemas(): Promise<SchemaBody>;
  /** Returns the function that calls the tools of a session; default: by a step. */
  toolsOf?(session: ClientSession): CallTool;
}

export function createEnvClient<C extends ClientContract>(parts: ClientParts): EnvClient<C> {
  const { session, shape, toolsOf = callByStep } = parts;
  const operations = createOperations<C>(shape);

  const call = async <V, R>(operation: Operation<V, R>, data: JsonObject, options: CallOptions): Promise<R> => {
    const { method } = operation;
    const answer = await traced({ method, data }, (add) =>
      session.call(method === "state" ? { type: method } : { type: method, data: add(data) }, options),
    );
    const result = operation.decode(answer.data, session.extensions, data);
    const { event, recovered } = answer;
    // A state has the fields of the environment alone.
    if (method === "state") return result;
    const link = linkTo(parts.url, session.handle);
    return { ...result, ...(event !== undefined && { event }), ...(recovered && { recovered }), ...link };
  };

  const forkAt =
    (event?: number): EnvClient<C>["fork"] =>
    async (count, { rng = "same", signal } = {}) => {
      const copies = await session.fork({ count, event, rng }, signal);
      return copies.map((copy) => createEnvClient<C>({ ...parts, session: copy }));
    };

  const client: EnvClient<C> = {
    url: parts.url,
    tasks: parts.tasks,
    tools: createToolMethods(shape, toolsOf(session)),
    openToAgent: async () => (await import("./agent-access.js")).openToAgent(parts.url, session),
    metadata: parts.metadata,
    schemas: parts.schemas,
    get sessionLost() {
      return session.lost;
    },
    reset: async (options, callOptions = {}) => {
      const given = options ?? ({} as ResetOptions & Sent<C["reset"]>);
      const result: unknown = await call(operations.reset, operations.reset.encode(given), callOptions);
      return result as StepResult<ReceivedByReset<C>>;
    },
    step: async (action, { metadata, ...callOptions } = {}) => {
      const fields = operations.step.encode(action);
      return call(operations.step, metadata ? { ...fields, metadata } : fields, callOptions);
    },
    tryReset: (options, callOptions) => client.reset(options, callOptions).catch(toFailedResult),
    tryStep: (action, callOptions) => client.step(action, callOptions).catch(toFailedResult),
    state: async (callOptions = {}) => call(operations.state, {}, callOptions),
    fork: forkAt(),
    at: (event) => ({ fork: forkAt(event) }),
    close: () => session.close(),
    [Symbol.asyncDispose]: () => session.close(),
  };
  return client;
}
