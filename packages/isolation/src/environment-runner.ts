import type { ToolCall } from "#core/contract/tools/tools.js";
import type { Environment, EnvironmentDefinition, ResetRequest } from "#core/environment/environment.js";
import { restoreAll, type SavedEnvironment, saveAll } from "#core/environment/wrappers/wrapper.js";
import { Call, ResetContext } from "#core/session/calls/call.js";
import { createChecked } from "#core/session/make-environment.js";
import { packError } from "#core/session/packed-error.js";
import { settled } from "#core/util/async/settled.js";
import type { Created, FromIsolate, IsolateRequestMessage, IsolateToolCall } from "./messages.js";
import { toCloneable } from "./to-cloneable.js";

/** The time that an aborted call may run before its environment is closed: half of an isolate's grace period. */
const ABORTED_CALL_MS = 500;

const OPTIONAL = ["afterTool", "render", "actions", "snapshot", "stateKey"] as const;

/** Runs the environments of this thread or process, by the number of their session. */
export class EnvironmentRunner {
  definition: EnvironmentDefinition | undefined;
  readonly #send: (message: FromIsolate) => void;
  readonly #environments = new Map<number, Environment>();
  readonly #creating = new Map<number, Promise<Created>>();
  readonly #closing = new Set<Promise<void>>();
  readonly #calls = new Map<number, Call>();
  /** The latest request of each session, until it is done. */
  readonly #running = new Map<number, Promise<unknown>>();

  constructor(send: (message: FromIsolate) => void) {
    this.#send = send;
  }

  async answer(request: IsolateRequestMessage): Promise<void> {
    const { id, session, method } = request;
    const running = this.#perform(request);
    if (method !== "close") this.#running.set(session, running);
    try {
      const value = await running;
      this.#send({ type: "answer", id, value, effects: this.#calls.get(id)?.usedEffects });
    } catch (error) {
      this.#send({ type: "failure", id, error: packError(error), effects: this.#calls.get(id)?.usedEffects });
    } finally {
      this.#calls.delete(id);
      if (this.#running.get(session) === running) this.#running.delete(session);
    }
  }

  abort(id: number, reason: string): void {
    this.#calls.get(id)?.abort(new Error(reason));
  }

  /** Resolves when all environments have closed or failed to close. */
  async closeAll(): Promise<void> {
    for (const session of [...this.#creating.keys(), ...this.#environments.keys()]) void this.#close(session);
    await Promise.allSettled(this.#closing);
  }

  async #perform({ id, session, method, input, context, effects }: IsolateRequestMessage): Promise<unknown> {
    if (method === "ping") return undefined;
    if (method === "create") return this.#create(session);
    if (method === "close") return this.#close(session);
    const environment = this.#environments.get(session);
    if (environment === undefined) throw new Error(`session ${session} has no environment in this isolate`);
    if (method === "state") return toCloneable((await environment.state?.()) ?? {});
    if (method === "render" || method === "actions") return toCloneable(await environment[method]?.(input as never));
    if (method === "snapshot") return toCloneable(await saveAll(environment));
    if (method === "restore") return restoreAll(environment, input as SavedEnvironment);
    if (method === "stateKey") return toCloneable(await environment.stateKey?.());
    const call = new Call(context ?? (input as ResetRequest), method === "afterTool" ? "tool" : method);
    if (effects !== undefined) call.continue(effects);
    this.#calls.set(id, call);
    if (method === "afterTool") return toCloneable(await environment.afterTool?.(input as ToolCall, call));
    if (method === "tool") {
      const { name, input: given } = input as IsolateToolCall;
      return toCloneable(await environment.tools?.[name]?.(given as never, call));
    }
    if (method === "step") {
      if (context !== undefined) call.metadata = context.metadata;
      return toCloneable(await environment.step(input as never, call));
    }
    const request: ResetRequest = Object.assign(new ResetContext(call), input as ResetRequest);
    return toCloneable(await environment.reset(request));
  }

  #create(session: number): Promise<Created> {
    const creating = this.#make(session).finally(() => this.#creating.delete(session));
    this.#creating.set(session, creating);
    return creating;
  }

  async #make(session: number): Promise<Created> {
    if (this.definition === undefined) throw new Error("the module of this isolate has no environment");
    const made = await createChecked(this.definition);
    this.#environments.set(session, made);
    return { has: OPTIONAL.filter((name) => made[name] !== undefined) };
  }

  #close(session: number): Promise<void> {
    const closing = this.#finish(session);
    this.#closing.add(closing);
    const forget = (): void => void this.#closing.delete(closing);
    closing.then(forget, forget);
    return closing;
  }

  async #finish(session: number): Promise<void> {
    // A failed creation has been reported in the answer to its request.
    await this.#creating.get(session)?.catch(() => {});
    const running = this.#running.get(session);
    if (running !== undefined) await settled(running, ABORTED_CALL_MS);
    const environment = this.#environments.get(session);
    this.#environments.delete(session);
    await environment?.close?.();
  }
}
