import type { CallContext, StepContext } from "../../environment/environment.js";
import type { JsonObject, ServerMessage } from "../../protocol/messages.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import type { View } from "../../protocol/web.js";
import { MAX_TIMER_MS } from "../../util/async/timer.js";
import type { Rng } from "../../util/rng.js";
import { type CallKind, rejectRequest } from "../failure.js";
import { ContinuedSource, type EffectSource, Effects, type EffectsState } from "./effects.js";
import type { ImageMessage, Recorded } from "./session-event.js";

/** The time that a cancelled call may block the next call or the close of the environment. */
export const ABANDONED_GRACE_MS = 5_000;

/** What a call answers. */
export type Answer = ServerMessage | ToolOutcome | ImageMessage;

const NO_METADATA: Readonly<JsonObject> = Object.freeze({});

/** The peer of a request below an address. */
export interface AddressPeer {
  /** It sends a request after the answer to the one before: a new step says that it does not repeat an earlier one. */
  readonly isSerial: boolean;
  /** The address opts in: an equal step as the first request gets the answer that the connection before could not send. */
  readonly retries: boolean;
  /** True once the connection has sent an answer. */
  readonly answered: boolean;
  /** The connection has closed. */
  readonly ended: boolean;
}

export interface SessionCallOptions {
  timeoutMs?: number | undefined;
  requestId?: string | undefined;
  /** The trace context of the request, if it is not in its data. */
  traceparent?: string | undefined;
  /** The peer below an address. */
  peer?: AddressPeer | undefined;
  /** The request has a number: a journal stores its event together with its answer. */
  numbered?: boolean | undefined;
  /** Arrival time of the message, from `performance.now()`; default now. */
  arrivedAt?: number;
  /** The peer has the orchestrator's token. */
  orchestrator?: boolean;
  /** A step after the end of the episode is refused (EPISODE_DONE). */
  inEpisode?: boolean;
  /** Adds server timings as `metadata.openenv`. */
  timing?: boolean;
  /** Adds a digest of the state as `metadata.openenv.digest`. */
  digest?: boolean;
  /** Adds the number of the event as `event`. */
  event?: boolean;
  /** Reports ignored reset options and non-finite values in `metadata.openenv.warnings`. */
  warnings?: boolean;
  /** A reset may be refused, so that the client makes it on another server. */
  moves?: boolean;
  /** Adds the results of the author's `render` and `actions` for the observation. */
  view?: boolean;
  /** Registers a function that cancels the call when the client disconnects; used only for asynchronous calls. */
  onDisconnect?: ((cancel: () => void) => void) | undefined;
  /** Registers a function by which the client cancels the call; used only for asynchronous calls. */
  onCancel?: ((cancel: () => void) => void) | undefined;
}

/**
 * One call of an environment's method. The signal and what the environment gets from outside are created on first read,
 * because most steps never need them.
 */
export class Call implements StepContext {
  readonly options: SessionCallOptions;
  readonly timeoutMs: number | undefined;
  readonly requestId: string | undefined;
  readonly arrivedAt: number;
  /** When the call started, by the same clock. */
  startedAt = 0;
  readonly type: CallKind;
  /** The number of the step in its episode; of another call, the number of steps before it, and 0 for a reset. */
  step = 0;
  /** The number of its session on a batch socket. */
  readonly member: number | undefined;
  /** The same as `type`, but `tool` for a step that calls a tool. */
  kind: CallKind;
  metadata: Readonly<JsonObject> = NO_METADATA;
  /** Why the call was cancelled. */
  aborted: Error | undefined;
  /** The code of the answer to a cancelled call. */
  abortCode: "TIMEOUT" | "CANCELLED" = "TIMEOUT";
  /** Called on abort, without the cost of a signal. */
  onAbort: ((reason: Error) => void) | undefined;
  /** Warnings for the answer, if the peer requested them. */
  warnings: string[] | undefined;
  /** A tool is running, which applies the time limit itself with a more precise message. */
  limitedByTool = false;
  /** A handler that still runs after its call was answered. The next call waits for it for a limited time. */
  abandoned: PromiseLike<unknown> | undefined;
  /** The number of the event; 0 for a call that is not one, or did not reach the environment. */
  event = 0;
  /** A copy of the request of the event, if events are recorded. */
  data: JsonObject | undefined;
  /** What the environment's `render` made of the answer, for a client or a plugin that records it. */
  view: View | undefined;
  /** Set with the event. */
  source: EffectSource | undefined;
  /** The event has run and is being recorded: the time limit no longer applies. */
  executed = false;
  #effects: Effects | undefined;
  #begun: Recorded | undefined;
  /** The call that this is a part of. */
  #whole: Call | undefined;
  /** This is not a closure in `onAbort`: with one, V8 keeps the requests of tool calls until a major collection. */
  #part: Call | undefined;
  #controller: AbortController | undefined;

  constructor(options: SessionCallOptions, kind: CallKind, member?: number) {
    this.options = options;
    this.member = member;
    this.type = this.kind = kind;
    this.timeoutMs = options.timeoutMs;
    this.requestId = options.requestId;
    this.arrivedAt = options.arrivedAt ?? performance.now();
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted !== undefined) this.#controller.abort(this.aborted);
    }
    return this.#controller.signal;
  }

  get effects(): Effects {
    if (this.#whole !== undefined) return this.#whole.effects;
    return (this.#effects ??= new Effects(this.source as EffectSource, this.event, this.#begun));
  }

  get rng(): Rng {
    return this.effects.rng;
  }

  get now(): Effects["now"] {
    return this.effects.now;
  }

  get record(): Effects["record"] {
    return this.effects.record;
  }

  /** Continues the effects of an event, in an isolate. */
  continue(state: EffectsState): void {
    this.event = state.event;
    this.source = new ContinuedSource(state);
    this.#begun = state.recorded;
  }

  /** Undefined if the environment has used none. */
  get usedEffects(): EffectsState | undefined {
    return this.#effects?.state;
  }

  /** What the environment got from outside. */
  get recorded(): Recorded {
    return this.#effects?.recorded ?? {};
  }

  /** A part of this call, aborted together with it. The call can outlive the part. */
  child(): Call {
    const part = new Call(this.options, this.kind);
    part.metadata = this.metadata;
    part.#whole = this;
    this.#part = part;
    if (this.aborted !== undefined) part.abort(this.aborted);
    return part;
  }

  /**
   * The answer, with the number of the event if the request was one and the peer requested it. An error on a batch socket
   * names the session, and the step if the call has started.
   */
  numbered(given: Answer): Answer {
    let answer = given;
    if (this.member !== undefined && "type" in answer && answer.type === "error") {
      const step = this.startedAt === 0 ? {} : { step: this.step };
      answer = { ...answer, data: { ...answer.data, session: this.member, ...step } };
    }
    if (this.options.event !== true || this.event <= 0) return answer;
    const { event } = this;
    // A copy, because what was recorded has no number. The spread costs several times as much.
    if ("type" in answer && Object.keys(answer).length === 2)
      return { type: answer.type, data: answer.data, event } as Answer;
    return { ...answer, event } as Answer;
  }

  /**
   * Resolves with the answer, or with an error when the time limit passes or the client cancels. Aborts when the client
   * disconnects.
   */
  answerLater(answer: Promise<Answer>): Promise<Answer> {
    const { onDisconnect, event } = this.options;
    onDisconnect?.(() => this.abort(new Error("the client disconnected")));
    const inTime = this.#inTime(answer);
    return event === true || this.member !== undefined ? inTime.then((value) => this.numbered(value)) : inTime;
  }

  /** After the time limit, and after a cancel, the call may still run. */
  #inTime(answer: Promise<Answer>): Promise<Answer> {
    const { timeoutMs = Number.POSITIVE_INFINITY } = this;
    const { onCancel } = this.options;
    if (timeoutMs > MAX_TIMER_MS && onCancel === undefined) return answer;
    return new Promise((resolve) => {
      let isOver = false;
      const stop = (code: Call["abortCode"], message: string): void => {
        if (isOver || this.executed) return;
        isOver = true;
        this.abort(new Error(message), code);
        resolve(rejectRequest(this.type, code, message));
      };
      const stopLate = (): void => {
        if (!this.limitedByTool) stop("TIMEOUT", `the environment did not answer within ${timeoutMs / 1000} s`);
      };
      const timer = timeoutMs > MAX_TIMER_MS ? undefined : setTimeout(stopLate, timeoutMs);
      onCancel?.(() => stop("CANCELLED", `the client has cancelled this ${this.type}`));
      void answer.then((value) => {
        isOver = true;
        clearTimeout(timer);
        resolve(value);
      });
    });
  }

  abort(reason: Error, code: Call["abortCode"] = "TIMEOUT"): void {
    if (this.aborted !== undefined) return;
    this.aborted = reason;
    this.abortCode = code;
    this.onAbort?.(reason);
    this.#part?.abort(reason);
    this.#controller?.abort(reason);
  }
}

/** What reset receives besides its options. Getters of a class, so that copying the options does not read them. */
export class ResetContext implements CallContext {
  readonly timeoutMs: number | undefined;
  readonly #call: Call;

  constructor(call: Call) {
    this.timeoutMs = call.timeoutMs;
    this.#call = call;
  }

  /** The call of a reset request. */
  static callOf(request: object): Call {
    return (request as ResetContext).#call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  get rng(): Rng {
    return this.#call.rng;
  }

  get now(): Effects["now"] {
    return this.#call.now;
  }

  get record(): Effects["record"] {
    return this.#call.record;
  }
}
