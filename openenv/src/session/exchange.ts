import type { Transition } from "../environment/environment.js";
import type { ClientMessage, JsonObject, ObservationData, ServerMessage } from "../protocol/messages.js";
import { isToolAction, lacksToolType, MISSING_TOOL_TYPE, type ToolOutcome } from "../protocol/tools.js";
import type { View } from "../protocol/web.js";
import { isThenable } from "../util/async/thenable.js";
import { clip } from "../util/text/clip.js";
import { missingField } from "../validation/errors/issues.js";
import { InvalidOutputError } from "../validation/validate.js";
import { Call, type CallOptions } from "./calls/call.js";
import { CALL, type CallNumber } from "./calls/call-marks.js";
import { callTool, prepareCall, type ToolRequest } from "./calls/tool-call.js";
import { listTools, toToolCall, toTransition } from "./calls/tool-step.js";
import { describeError, toError } from "./failure.js";
import { errorMessage, invalidMessage } from "./messages/frame.js";
import type { Session, Task } from "./session.js";
import { SessionKilledError } from "./session-killed.js";

export interface ExchangeOptions extends CallOptions {
  /** When the message arrived, by the clock of `performance.now()`; default now. */
  arrivedAt?: number;
  /** Adds `metadata.openenv` with where the time went. */
  timing?: boolean;
  /** Names dropped reset options and values that are not finite, in `metadata.openenv.warnings`. */
  warnings?: boolean;
  /** Adds what the author's `render` and `actions` make of the observation. */
  view?: boolean;
}

export type EnvironmentMessage = Exclude<ClientMessage, { type: "mcp" | "close" }>;
type Method = EnvironmentMessage["type"];
type Reply = ServerMessage | Promise<ServerMessage>;
type ObservationMessage = Extract<ServerMessage, { type: "observation" }>;
/** What an observation comes from. */
type Kind = "reset" | "step" | "tool";
/** How many dropped reset options are told of, and how much of each name. */
const MAX_DROPPED = 20;
const MAX_NAME = 100;
const CHECKS = { reset: "resetTransition", step: "transition", tool: "transition" } as const;

/** One message to an environment and its answer. Failures are answers too: nothing is thrown. */
export class Exchange extends Call implements Task<ServerMessage> {
  /** What runs keeps to the time limit of the call, and says more about it than a caller could. */
  limitsItself = false;
  readonly #session: Session;
  readonly #message: EnvironmentMessage;
  readonly #options: ExchangeOptions;
  readonly #arrivedAt: number;
  #startedAt = 0;
  #warnings: string[] | undefined;
  /** The reward, where it is NaN or infinite and JSON has no number for it. */
  #reward: string | undefined;

  constructor(session: Session, message: EnvironmentMessage, options: ExchangeOptions) {
    super(options);
    this.#session = session;
    this.#message = message;
    this.#options = options;
    this.#arrivedAt = options.arrivedAt ?? performance.now();
  }

  get number(): CallNumber {
    return CALL[this.#message.type];
  }

  execute(): Reply {
    if (this.aborted !== undefined) return errorMessage("TIMEOUT", this.aborted.message);
    this.#session.begin(this);
    this.#startedAt = this.#session.startedAt;
    const message = this.#message;
    try {
      if (message.type === "step") return this.#step(message.data);
      return message.type === "reset" ? this.#reset(message.data ?? {}) : this.#state();
    } catch (error) {
      return this.fail(message.type, error);
    }
  }

  /** Classifies what went wrong in the environment. */
  fail(method: Method, error: unknown): ServerMessage {
    const { runtime, id } = this.#session;
    const cause = toError(error);
    if (this.aborted === undefined) {
      runtime.log.warn({ err: cause, session: id }, `the environment failed in ${method}`);
    } else {
      runtime.log.debug({ session: id, reason: this.aborted.message }, `${method} was given up`);
    }
    if (cause instanceof SessionKilledError) return errorMessage(cause.code, cause.message);
    const text = cause instanceof InvalidOutputError ? cause.message : describeError(error, runtime.mode);
    return errorMessage("EXECUTION_ERROR", text);
  }

  #step(data: JsonObject): Reply {
    const session = this.#session;
    const { validator, tools, definition } = session.runtime;
    const usesTools = tools !== undefined && (definition.contract.toolsOnly || isToolAction(data));
    const checked = usesTools ? tools.checkAction(data) : validator.action(data);
    if (!checked.ok) {
      const isOwn = "tool_name" in definition.contract.action.shape;
      if (tools === undefined || isOwn || !lacksToolType(data)) return invalidMessage(checked.issues);
      return invalidMessage([{ ...missingField(["type"], data), msg: MISSING_TOOL_TYPE }, ...checked.issues]);
    }
    session.claim();
    const { action, metadata } = checked.value;
    this.metadata = metadata;
    if (usesTools && action["type"] === "list_tools") return this.#stepped(listTools(tools), "tool");
    if (session.episodeId === null && definition.stepBeforeReset === "error") {
      const message = "call reset first: this session has no episode to step in";
      return errorMessage("EXECUTION_ERROR", message, { openenv_code: "NO_EPISODE" });
    }
    if (usesTools) return this.#callTool(action);
    return this.#finish("step", session.instance.step(action, this), this.#stepped);
  }

  #callTool(action: JsonObject): Reply {
    const request = { name: action["tool_name"] as string, given: action["arguments"] as JsonObject };
    const prepared = prepareCall(this.#session.runtime.tools, request);
    if (!("tool" in prepared)) return this.#toolCalled(request, prepared);
    this.limitsItself = true;
    return this.#finish("step", callTool(this.#session, prepared, this), (outcome) => {
      this.limitsItself = false;
      return this.#toolCalled(request, outcome);
    });
  }

  #toolCalled(request: ToolRequest, outcome: ToolOutcome): Reply {
    const told = this.#session.instance.afterTool?.(toToolCall(request, outcome), this) ?? {};
    return this.#finish("step", told, (more) => this.#stepped(toTransition(request, outcome, more), "tool"));
  }

  #stepped(transition: Transition, kind: Kind = "step"): Reply {
    const session = this.#session;
    // Its client was told that it timed out, or has gone.
    if (this.aborted !== undefined) throw this.aborted;
    session.stepCount++;
    const reply = this.#observation(kind, transition);
    session.runtime.statistics.endStep(this.#arrivedAt, this.#startedAt);
    return reply;
  }

  #reset(data: JsonObject): Reply {
    const checked = this.#session.runtime.validator.reset(data);
    if (!checked.ok) {
      return invalidMessage(checked.issues.map((issue) => ({ ...issue, loc: ["data", ...issue.loc] })));
    }
    this.#session.claim();
    const { fields, dropped, seed, split, index } = checked.value;
    if (dropped.length > 0) this.#warnDropped(dropped);
    const episodeId = checked.value.episodeId ?? crypto.randomUUID();
    // Until this reset has succeeded there is no episode to step in, neither the old one nor a new one.
    this.#session.episodeId = null;
    const call = this;
    const request = {
      ...fields,
      seed,
      episodeId,
      split,
      index,
      timeoutMs: this.timeoutMs,
      get signal() {
        return call.signal;
      },
    };
    return this.#finish("reset", this.#session.instance.reset(request), (transition: Transition) => {
      this.#session.beginEpisode(episodeId);
      const reply = this.#observation("reset", transition);
      this.#session.runtime.statistics.resets.record(performance.now() - this.#arrivedAt);
      return reply;
    });
  }

  #state(): Reply {
    this.#session.claim();
    return this.#finish("state", this.#session.instance.state?.() ?? {}, (own) => {
      const { runtime, episodeId, stepCount } = this.#session;
      const { value, nonFinite } = runtime.validator.state(own);
      this.#countNonFinite("state", nonFinite);
      return { type: "state", data: { ...value, episode_id: episodeId, step_count: stepCount } };
    });
  }

  /** Goes on with what the environment returned, at once when it is there. */
  #finish<T>(method: Method, returned: T | PromiseLike<T>, next: (this: Exchange, value: T) => Reply): Reply {
    if (!isThenable(returned)) return next.call(this, returned);
    return Promise.resolve(returned)
      .then((value) => next.call(this, value))
      .catch((error: unknown) => this.fail(method, error));
  }

  #observation(kind: Kind, returned: Transition): Reply {
    const { validator, definition } = this.#session.runtime;
    // They are made for what the contract declares, which a tool's observation is where there is nothing else.
    const transforms = kind === "tool" && !definition.contract.toolsOnly ? undefined : definition.transforms;
    const transition =
      transforms === undefined ? returned : transforms.reduce((value, apply) => apply(value), returned);
    const check = kind === "tool" && transforms === undefined ? "toolTransition" : CHECKS[kind];
    const checked = validator[check](transition);
    if (checked.nonFinite > 0) {
      this.#countNonFinite(kind === "tool" ? "step" : kind, checked.nonFinite);
      this.#warnNonFinite(transition.reward, checked.nonFinite);
    }
    const metadata = this.#annotate(checked.metadata, transition.truncated === true);
    const { observation, reward, done } = checked;
    observation["metadata"] = metadata;
    const data: ObservationData = isEmpty(metadata)
      ? { observation, reward, done }
      : { observation, reward, done, metadata };
    const message: ObservationMessage = { type: "observation", data };
    if (this.#options.view !== true) return message;
    // The author's renderer knows what the contract declares, and of tools only where they are all there is.
    const isKnown = kind !== "tool" || definition.contract.toolsOnly;
    return this.#withView(message, isKnown ? transition.observation : undefined);
  }

  async #withView(message: ObservationMessage, observation: JsonObject | undefined): Promise<ServerMessage> {
    // Only pages ask, and most servers have none.
    const { makeView } = await import("./view.js");
    const nothing: View = { parts: [], actions: [] };
    const view = observation === undefined ? nothing : await makeView(this.#session, observation);
    return Object.assign(message, { view });
  }

  #annotate(metadata: JsonObject, truncated: boolean): JsonObject {
    if (!truncated && this.#options.timing !== true && this.#warnings === undefined) return metadata;
    const annotated: JsonObject = truncated ? { ...metadata, truncated } : { ...metadata };
    const ours: JsonObject = {};
    if (this.#options.timing === true) {
      ours["session"] = this.#session.id;
      ours["step"] = this.#session.stepCount;
      ours["env_ms"] = performance.now() - this.#startedAt;
      ours["queue_ms"] = this.#startedAt - this.#arrivedAt;
    }
    if (this.#warnings !== undefined) ours["warnings"] = this.#warnings;
    if (this.#reward !== undefined) ours["reward"] = this.#reward;
    if (Object.keys(ours).length > 0) annotated["openenv"] = ours;
    return annotated;
  }

  #warnDropped(dropped: string[]): void {
    const { log, definition } = this.#session.runtime;
    const declared = Object.keys(definition.contract.reset.shape).join(", ") || "none";
    const named = dropped.slice(0, MAX_DROPPED).map((key) => clip(key, MAX_NAME));
    const more = dropped.length - named.length;
    log.warn({ session: this.#session.id, dropped: named, more, declared }, "undeclared reset options were dropped");
    if (this.#options.warnings !== true) return;
    const those = ` (declared: ${declared})`;
    this.#warnings = named.map(
      (key, i) => `reset option "${key}" is not declared and was dropped${i > 0 ? "" : those}`,
    );
    if (more > 0) this.#warnings.push(`${more} more reset options are not declared and were dropped`);
  }

  #warnNonFinite(reward: unknown, count: number): void {
    if (this.#options.warnings !== true) return;
    const isReward = typeof reward === "number" && !Number.isFinite(reward);
    const others = isReward ? count - 1 : count;
    this.#warnings ??= [];
    if (isReward) {
      this.#reward = String(reward);
      this.#warnings.push(`the reward is ${reward} and was sent as null`);
    }
    if (others > 0) this.#warnings.push(`NaN or infinities of the result were sent as null: ${others}`);
  }

  #countNonFinite(method: Method, count: number): void {
    if (count === 0) return;
    const { statistics, log } = this.#session.runtime;
    statistics.nonFinite += count;
    log.warn({ session: this.#session.id, count }, `${method} returned NaN or infinities; they were sent as null`);
  }
}

function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}
