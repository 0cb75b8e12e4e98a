import { Fifo } from "#parts/sockets/scheduling";
import type { Environment, ResetRequest, Transition } from "../environment/environment.js";
import { relayOf } from "../environment/relay.js";
import type { JsonObject, ServerMessage } from "../protocol/messages.js";
import { isToolAction, type ToolOutcome } from "../protocol/tools.js";
import type { ServerViewSession } from "../protocol/web.js";
import { after } from "../util/async/after.js";
import { settled } from "../util/async/settled.js";
import { isThenable } from "../util/async/thenable.js";
import { makeId } from "../util/make-id.js";
import type { Eventual } from "../util/types.js";
import { AttachableSession, RESET_ELSEWHERE, type SessionOpener } from "./attachable-session.js";
import { ABANDONED_GRACE_MS, type Answer, Call, ResetContext, type SessionCallOptions } from "./calls/call.js";
import { CALL, enterCall, leaveCall } from "./calls/call-marks.js";
import { beginEpisode, countAnswer, NO_PROGRESS } from "./calls/episode-result.js";
import { type CallTarget, observe, readState, reportDropped } from "./calls/observation.js";
import type { EnvironmentMessage, SessionRequest as Request, ResetMessage, WaitingCall } from "./calls/peer-request.js";
import { passOn } from "./calls/relay.js";
import type { ImageMessage, Progress } from "./calls/session-event.js";
import {
  callTool,
  explainAction,
  listTools,
  type PreparedCall,
  prepareCall,
  stepTool,
  type ToolRequest,
} from "./calls/tool-call.js";
import { answerFailure, checkEpisode, forbidden, lostReason, refuseLost, rejectRequest, toError } from "./failure.js";
import type { FactoryCall } from "./make-environment.js";
import { type ErrorMessage, invalidMessage } from "./messages/message-codec.js";
import { takeImage } from "./restore/image.js";
import { SessionEvents } from "./restore/session-events.js";
import type { Runtime } from "./runtime.js";
import { describeView, logStart } from "./session-info.js";

/** `lost`: the environment has lost the session, which ends as soon as the answer has left it. */
export type SessionState = "created" | "ready" | "lost" | "closing" | "closed";

type Reply = Eventual<ServerMessage>;

/**
 * One isolated instance of an environment: `created → ready (→ lost) → closing → closed`. It performs resets, steps, state
 * requests and tool calls one at a time, in the order of arrival. It is independent of transports.
 */
export class Session extends AttachableSession {
  readonly runtime: Runtime;
  readonly createdAt = Date.now();
  readonly events = new SessionEvents(this);
  /** Ends the session whose environment has lost it. */
  onLost: (reason: string) => void = (reason) => void this.close(reason);
  /** Part of an image. `episodeId` is null until the first reset. */
  progress: Progress = { ...NO_PROGRESS };
  lastActivityAt = performance.now();
  /** The call of the factory, whose signal aborts when the session ends. */
  factory: FactoryCall | undefined;
  /** What the latest reset asked for; unknown after a restore. */
  task: ServerViewSession["task"] | undefined;
  #state: SessionState = "created";
  /** Set with the environment. */
  #target: CallTarget | undefined;
  /** The call in flight, until it is answered. */
  #call: Call | undefined;
  /** Resolves when the next call may start; undefined while nothing runs. */
  #running: Promise<unknown> | undefined;
  #waiting: Fifo<WaitingCall> | undefined;
  #closed: Promise<void> | undefined;

  constructor(runtime: Runtime, opener?: SessionOpener) {
    super(runtime.idPrefix, opener);
    this.runtime = runtime;
  }

  get state(): SessionState {
    return this.#state;
  }

  get ended(): boolean {
    return this.#state === "closing" || this.#state === "closed";
  }

  get stepCount(): number {
    return this.progress.stepCount;
  }

  /** True if only the orchestrator may drive the episode, and the peer is not. */
  isForbidden(orchestrator = false): boolean {
    return (this.guarded || this.runtime.guarded) && !orchestrator;
  }

  /** True while a call is in flight. One that is aborted counts only if its client, which is there, has cancelled it. */
  get busy(): boolean {
    return this.#running !== undefined && this.#call !== undefined && (!this.#call.aborted || this.isCancelled);
  }

  /** When the call in flight started, by `performance.now()`; null when none is. */
  get busySince(): number | null {
    return this.busy ? (this.#call?.startedAt ?? 0) : null;
  }

  get isCancelled(): boolean {
    return this.#call?.abortCode === "CANCELLED";
  }

  /** No call has run since then, by `performance.now()`. */
  isIdleSince(time: number): boolean {
    return this.#state === "ready" && this.#running === undefined && this.lastActivityAt <= time;
  }

  get environment(): Environment | undefined {
    return this.#target?.environment;
  }

  touch(): void {
    this.lastActivityAt = performance.now();
  }

  /** Sets the environment of the session. After the end of the session, the environment is closed immediately. */
  adopt(environment: Environment): void {
    this.#target = { environment, session: this, relay: relayOf(environment) };
    if (this.#state === "created") this.#state = "ready";
    else void this.#closeEnvironment();
  }

  /** The answer to a reset was an error, or could not be sent: for the client no episode has begun. */
  dropEpisode(): void {
    if (this.progress.stepCount === 0) this.progress.episodeId = null;
  }

  /**
   * Performs the request immediately when the session is idle, otherwise queues it. Never throws or rejects: failures
   * are answers. With an idle session and a sync environment the answer is sync.
   */
  call(request: EnvironmentMessage, options?: SessionCallOptions): Reply;
  call(request: PreparedCall, options?: SessionCallOptions): Eventual<ToolOutcome>;
  call(request: { type: "capture" }, options?: SessionCallOptions): Eventual<ImageMessage | ErrorMessage>;
  call(request: Request, options: SessionCallOptions = {}): Eventual<Answer> {
    const { type } = request;
    if (type !== "tool" && this.isForbidden(options.orchestrator)) return { type: "error", data: forbidden(type) };
    if (this.lost !== undefined && type !== "reset") return refuseLost(type, this.lost);
    const { hooks } = this.events;
    if (hooks?.around === undefined || type === "capture") return this.perform(request, options);
    return hooks.around(request, options);
  }

  /** Performs a request past the ledger; with `isAdmitted`, also past the hooks of plugins. */
  perform(request: Request, options: SessionCallOptions, isAdmitted = false): Eventual<Answer> {
    const { type } = request;
    const { plugins } = this.events;
    if (plugins?.around !== undefined && !isAdmitted && type !== "capture" && this.events.replayed === undefined)
      return plugins.around(request, options);
    if (this.#state !== "ready") return rejectRequest(type, "SESSION_ERROR", "the session has ended");
    if (type === "reset" && options.moves && this.asksToMove(this.progress)) return RESET_ELSEWHERE;
    const call = new Call(options, type, this.member);
    const answer = this.#running === undefined ? this.#run(request, call) : this.#enqueue(request, call);
    return isThenable(answer) ? call.answerLater(answer) : call.numbered(answer);
  }

  /** Calls a tool outside of steps, in the same queue. Never throws or rejects. */
  callTool(request: ToolRequest, options?: SessionCallOptions): Eventual<ToolOutcome> {
    const prepared = prepareCall(this.runtime.tools, request);
    return "tool" in prepared ? this.call(prepared, options) : prepared;
  }

  /** The state after the last event; no call may be running but that which records it. */
  takeImage(): ReturnType<typeof takeImage> {
    return takeImage(this);
  }

  /** Ends the session: aborts the call in flight, rejects waiting requests and closes the environment once. */
  close(reason: string): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = this.#close(reason);
      this.notifyEnded(reason);
    }
    return this.#closed;
  }

  /** What operators see of it. */
  view(worker: number): ServerViewSession {
    return describeView(this, worker, this.busySince);
  }

  #enqueue(request: Request, call: Call): Promise<Answer> {
    return new Promise((resolve) => (this.#waiting ??= new Fifo()).push({ request, call, resolve }));
  }

  /** Performs a request; no other request may be running. A closure here would slow down every call. */
  #run(request: Request, call: Call): Eventual<Answer> {
    if (call.aborted !== undefined) return rejectRequest(request.type, call.abortCode, call.aborted.message);
    if (this.#state === "lost") return rejectRequest(request.type, "SESSION_ERROR", "the session has ended");
    this.#call = call;
    this.lastActivityAt = call.startedAt = performance.now();
    call.step = request.type === "reset" ? 0 : this.progress.stepCount + Number(request.type === "step");
    enterCall(this.runtime.number, this.tag, CALL[request.type]);
    let answer: Eventual<Answer>;
    try {
      const target = this.#target as CallTarget;
      const { relay } = target;
      if (relay !== undefined && request.type !== "tool" && request.type !== "capture")
        answer = passOn(request, call, { relay, session: this, target });
      else if (request.type === "step") answer = this.#step(request.data, call, target);
      else if (request.type === "reset") answer = this.#reset(request, call, target);
      else if (request.type === "tool") {
        this.events.begin(call, { name: request.tool.name, arguments: request.given });
        answer = callTool(request, call, target);
      } else if (request.type === "state") {
        this.claim();
        answer = readState(target);
      } else answer = after(this.takeImage(), (data): ImageMessage => ({ type: "image", data }));
    } catch (error) {
      answer = this.#fail(call, error);
    } finally {
      leaveCall();
    }
    if (isThenable(answer)) return this.#runLater(answer, request, call);
    const finished = this.#finish(request, call, answer);
    if (isThenable(finished)) {
      this.#running = finished;
      return this.#end(finished);
    }
    this.#call = undefined;
    return finished;
  }

  #runLater(answer: Promise<Answer>, request: Request, call: Call): Promise<Answer> {
    const finish = (value: Answer): Eventual<Answer> => this.#end(this.#finish(request, call, value));
    return (this.#running = answer.then(finish, (error: unknown) => finish(this.#fail(call, error))));
  }

  /** Ends an async call. Waiting requests start when its answer has left the session. */
  #end(answer: Eventual<Answer>): Eventual<Answer> {
    const isLast = !isThenable(answer) && (this.#waiting === undefined || this.#waiting.size === 0);
    if (isLast) this.#next();
    else void this.#running?.then(() => this.#next());
    return answer;
  }

  /** Performs waiting requests until one of them is async. */
  #next(): void {
    const abandoned = this.#call?.abandoned;
    this.#call = undefined;
    this.#running = abandoned && settled(abandoned, ABANDONED_GRACE_MS).then(() => this.#next());
    if (abandoned !== undefined) return;
    this.touch();
    while (this.#running === undefined) {
      const waiting = this.#waiting?.shift();
      if (waiting === undefined) return;
      waiting.resolve(this.#run(waiting.request, waiting.call));
    }
  }

  #step(data: JsonObject, call: Call, target: CallTarget): Reply {
    const { validator, tools, definition } = this.runtime;
    const usesTools = tools !== undefined && (definition.contract.toolsOnly || isToolAction(data));
    const checked = usesTools ? tools.checkAction(data) : validator.action(data);
    if (!checked.ok) return invalidMessage(explainAction(data, checked.issues, this.runtime));
    if (this.unclaimed !== undefined) this.claim();
    const { action, metadata } = checked.value;
    call.metadata = metadata;
    if (usesTools && action["type"] === "list_tools") {
      call.kind = "tool";
      this.events.begin(call, data);
      return this.#stepped(listTools(tools, definition.contract), call, target);
    }
    const missing = checkEpisode(this.progress, definition, call.options);
    if (missing !== undefined) return missing;
    this.events.begin(call, data);
    const returned = usesTools ? stepTool(action, call, target) : target.environment.step(action, call);
    return isThenable(returned) ? this.#stepLater(returned, call, target) : this.#stepped(returned, call, target);
  }

  #stepLater(returned: PromiseLike<Transition>, call: Call, target: CallTarget): Promise<ServerMessage> {
    return Promise.resolve(returned).then((transition) => this.#stepped(transition, call, target));
  }

  #stepped(transition: Transition, call: Call, target: CallTarget): Reply {
    // The client has its answer or has disconnected.
    if (call.aborted !== undefined) throw call.aborted;
    this.progress.stepCount++;
    const reply = observe(transition, call, target);
    this.runtime.statistics.endStep(call.arrivedAt, call.startedAt);
    return reply;
  }

  #reset(message: ResetMessage, call: Call, target: CallTarget): Reply {
    const { validator } = this.runtime;
    const { input, data = {} } = message;
    const checked = input === undefined ? validator.reset(data) : ({ ok: true, value: input } as const);
    if (!checked.ok) return invalidMessage(checked.issues.map((issue) => ({ ...issue, loc: ["data", ...issue.loc] })));
    this.claim();
    const { fields, dropped, seed, split, index, episodeId = makeId() } = checked.value;
    if (dropped.length > 0) call.warnings = reportDropped(this, dropped);
    // The old episode has ended, and the new one starts only when this reset succeeds.
    this.progress.episodeId = null;
    this.events.begin(call, { ...data, episode_id: episodeId });
    this.events.reseed(seed);
    const request: ResetRequest = Object.assign(new ResetContext(call), fields, { seed, episodeId, split, index });
    return after(target.environment.reset(request), (transition) => {
      if (call.aborted !== undefined) throw call.aborted;
      this.begun(episodeId, call.arrivedAt);
      this.task = { seed, split, index };
      return observe(transition, call, target);
    });
  }

  /** A reset that arrived then has begun an episode. */
  begun(episodeId: string, arrivedAt: number): void {
    this.progress = beginEpisode(this.progress, episodeId);
    if (this.progress.episodes === 1 && this.events.replayed === undefined) logStart(this, "started");
    this.lost = undefined;
    this.runtime.statistics.counts.openenv_reset_duration_seconds.record(performance.now() - arrivedAt);
  }

  /** Records an event before its answer leaves the session. */
  #finish(request: Request, call: Call, answer: Answer): Eventual<Answer> {
    if (request.type === "step") countAnswer(this.progress, answer as ServerMessage);
    else if (request.type === "reset" && call.event > 0 && (call.aborted || (answer as ServerMessage).type === "error"))
      this.dropEpisode();
    if (call.event === 0 || !this.events.isRecording) return answer;
    const { aborted, abortCode } = call;
    const given = aborted === undefined ? answer : rejectRequest(request.type, abortCode, aborted.message);
    return this.events.finish(call, given as ServerMessage | ToolOutcome, this.#state === "ready");
  }

  #fail(call: Call, error: unknown): Answer {
    const reason = lostReason(error);
    if (reason !== undefined) this.lose(reason);
    return answerFailure(this, call, error);
  }

  /** Ends the session as soon as the answer in flight has left it. */
  lose(reason: string): void {
    if (this.#state !== "ready") return;
    this.#state = "lost";
    setTimeout(() => this.onLost(reason), 0);
  }

  #close(reason: string): Promise<void> {
    this.#state = "closing";
    const running = this.#running;
    if (running === undefined) return this.#closeEnvironment();
    const message = `the session has ended: ${reason}`;
    for (let next = this.#waiting?.shift(); next !== undefined; next = this.#waiting?.shift()) {
      next.resolve(rejectRequest(next.request.type, "SESSION_ERROR", message));
    }
    this.#call?.abort(new Error(message));
    return settled(running, ABANDONED_GRACE_MS).then(() => this.#closeEnvironment());
  }

  async #closeEnvironment(): Promise<void> {
    try {
      enterCall(this.runtime.number, this.tag, CALL.close);
      const closed = this.#target?.environment.close?.();
      leaveCall();
      if (isThenable(closed)) await closed;
    } catch (error) {
      leaveCall();
      this.runtime.log.error({ err: toError(error), session: this.id }, "the environment failed in close");
    }
    this.#state = "closed";
  }
}
