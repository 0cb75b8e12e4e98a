import type { Environment } from "../../environment/environment.js";
import { stringifyJson } from "../../protocol/codec/json.js";
import type { JsonObject, ServerMessage } from "../../protocol/messages.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import { isThenable } from "../../util/async/thenable.js";
import { firstDifference } from "../../util/first-difference.js";
import { snapshot } from "../../util/snapshot.js";
import type { MaybePromise } from "../../util/types.js";
import type { Call } from "../calls/call.js";
import { type EffectSource, EpisodeRandom } from "../calls/effects.js";
import type { Recorded, RestoreTier, SessionEvent, SessionImage } from "../calls/session-event.js";
import { lostCall, lostReason, rejectRequest, toError } from "../failure.js";
import { errorMessage } from "../messages/message-codec.js";
import type { Runtime } from "../runtime.js";
import { History } from "./history.js";
import type { SessionHooks } from "./session-hooks.js";

/** The session of the events. */
export interface RecordedSession {
  readonly id: string;
  readonly runtime: Runtime;
  readonly environment: Environment | undefined;
  /** Called while no call can begin. */
  takeImage(): MaybePromise<SessionImage>;
  /** Ends the session once the answer in flight has left it. */
  lose(reason: string): void;
}

type Answer = ServerMessage | ToolOutcome;

/** The numbered events of one session, and what its environment got from outside. */
export class SessionEvents extends EpisodeRandom implements EffectSource {
  /** The number of the last event; 0 before the first. */
  last = 0;
  /** Those of the ledger, outside of those of plugins. */
  hooks: SessionHooks | undefined;
  /** Those of all plugins. */
  plugins: SessionHooks | undefined;
  /** Set with snapshots and the option `history`. */
  history: History | undefined;
  readonly #session: RecordedSession;
  #isSeedRecorded = false;
  /** The events of the episode as JSON; undefined while none are kept. */
  #kept: string[] | undefined;
  #keptCharacters = 0;
  /** The event that is replayed. */
  #expected: SessionEvent | undefined;
  #difference: string | undefined;
  /** Why the episode cannot be replayed, although its events are kept. */
  #gap: string | undefined;

  constructor(session: RecordedSession) {
    super();
    this.#session = session;
  }

  get id(): string {
    return this.#session.id;
  }

  /** What the event that is replayed got from outside. */
  get replayed(): Recorded | undefined {
    return this.#expected?.recorded;
  }

  /** Begins the random numbers of an episode. */
  reseed(seed: number | undefined): void {
    this.rngState = { seed: this.replayed?.seed ?? seed, state: null };
    this.#isSeedRecorded = false;
  }

  /** Numbers an event that the call is about to begin, with this request. */
  begin(call: Call, request: JsonObject): void {
    call.event = ++this.last;
    call.source = this;
    // The environment may change what it receives.
    call.data = this.isRecording ? snapshot(request) : undefined;
  }

  /**
   * Expects the next event to go like this one. Returns the first difference of the event before from what was expected.
   */
  expect(event: SessionEvent | undefined): string | undefined {
    const difference = this.#expected === undefined ? undefined : this.#difference;
    this.#expected = event;
    this.#difference = "event: it was refused";
    if (event !== undefined) this.last = event.event - 1;
    return difference;
  }

  /** Keeps the events of each episode from its beginning, so that it can be replayed. */
  keep(): void {
    if (this.#kept !== undefined) return;
    this.#kept = [];
    if (this.last > 0) this.#gap = "its events are kept only from the next reset on";
  }

  /** Keeps the events of a session that can be restored in no other way. */
  keepIfNeeded(): void {
    if (this.tier.tier === "replay") this.keep();
  }

  /** Continues with random numbers of its own. */
  split(): void {
    this.reseed(undefined);
    this.history?.clear();
    if (this.#kept !== undefined && this.last > 0) this.#forget("its random numbers were split in the episode");
  }

  /** The events of the episode, or why there are not all of them. */
  get kept(): SessionEvent[] | string {
    if (this.#kept === undefined) return "its events are not kept";
    return this.#gap ?? this.#kept.map((text) => JSON.parse(text) as SessionEvent);
  }

  /** The way in which the session can be restored. */
  get tier(): RestoreTier {
    const { environment, runtime } = this.#session;
    if (environment?.snapshot !== undefined) return { tier: "snapshot" };
    if (runtime.definition.seeded !== true) {
      const reason = "the environment declares neither snapshot() and restore() nor seeded: true";
      return { tier: "none", reason };
    }
    return this.#gap === undefined ? { tier: "replay" } : { tier: "none", reason: this.#gap };
  }

  /** True when {@link finish} must be called after an event. */
  get isRecording(): boolean {
    const { hooks, plugins } = this;
    return (hooks?.record ?? plugins?.record ?? this.#kept) !== undefined || this.#hasHistory;
  }

  get #hasHistory(): boolean {
    const { environment, runtime } = this.#session;
    return (runtime.definition.history ?? 1) > 1 && environment?.snapshot !== undefined;
  }

  /**
   * Records an event that has run; returns its answer when it may leave the session. If the session has ended meanwhile,
   * only plugins get the event. Never throws or rejects.
   */
  finish(call: Call, answer: Answer, isOpen: boolean): Answer | Promise<Answer> {
    call.executed = true;
    const { event: number, data: request = {}, recorded } = call;
    const type = call.type as SessionEvent["type"];
    const event: SessionEvent = { event: number, type, request, answer: bare(answer), recorded };
    if (!this.#isSeedRecorded) event.recorded.seed = this.seed;
    this.#isSeedRecorded = true;
    const refuse = (error: unknown): Answer => {
      const lost = lostReason(error);
      if (lost !== undefined) {
        this.#session.lose(lost);
        return type === "tool" ? lostCall(lost) : errorMessage("SESSION_LOST", lost);
      }
      const { message } = toError(error);
      this.#session.runtime.log.error({ err: error, session: this.id }, "an event could not be recorded");
      return rejectRequest(type, "SESSION_ERROR", `the answer could not be recorded: ${message}`);
    };
    try {
      const recorded = isOpen ? this.#keep(event, call) : this.#show(event, call);
      return isThenable(recorded) ? Promise.resolve(recorded).then(() => answer, refuse) : answer;
    } catch (error) {
      return refuse(error);
    }
  }

  #keep(event: SessionEvent, call: Call): MaybePromise<void> {
    if (this.#expected !== undefined) {
      this.#difference = firstDifference(this.#expected, JSON.parse(stringifyJson(event)));
    }
    if (this.#kept !== undefined) this.#keepEvent(event, call);
    const kept = this.#hasHistory ? this.#keepState() : undefined;
    const record = (): MaybePromise<void> => this.#record(event, call);
    return isThenable(kept) ? kept.then(record) : record();
  }

  /** Plugins are first, so that what they refuse is not stored. */
  #record(event: SessionEvent, call: Call): MaybePromise<void> {
    const { hooks, plugins } = this;
    const isShared = hooks?.record !== undefined && plugins?.record !== undefined && plugins.brief !== true;
    const stored = isShared ? snapshot(event) : event;
    const record = (): MaybePromise<void> => hooks?.record?.(stored, call);
    const seen = this.#show(event, call);
    return isThenable(seen) ? seen.then(record) : record();
  }

  /** Shows plugins the event, unless it is one of a replay. */
  #show(event: SessionEvent, call: Call): MaybePromise<void> {
    const { plugins } = this;
    if (plugins?.record === undefined || this.#expected !== undefined) return undefined;
    return plugins.record(plugins.brief === true ? event : snapshot(event), call);
  }

  /** Keeps the state after the event; one that cannot be saved is not kept. */
  #keepState(): MaybePromise<void> {
    const { log, definition, restore } = this.#session.runtime;
    const keep = (image: SessionImage): void => {
      this.history ??= new History();
      this.history.add(image, { count: definition.history ?? 1, bytes: restore.historyBytes });
    };
    const skip = (error: unknown): void =>
      log.warn({ err: error, session: this.id, event: this.last }, "the state after an event could not be kept");
    try {
      const image = this.#session.takeImage();
      return isThenable(image) ? Promise.resolve(image).then(keep).catch(skip) : keep(image);
    } catch (error) {
      return skip(error);
    }
  }

  #keepEvent(event: SessionEvent, { aborted, abandoned }: Call): void {
    const isBeginning = event.type === "reset" && "type" in event.answer && event.answer.type === "observation";
    if (isBeginning) this.#forget(undefined);
    if (aborted !== undefined || abandoned !== undefined) {
      this.#forget(`event ${event.event} was cancelled while it ran, which cannot be repeated`);
    }
    if (this.#gap !== undefined) return;
    const text = stringifyJson(event);
    this.#kept?.push(text);
    this.#keptCharacters += text.length;
    const { replayEvents, historyBytes } = this.#session.runtime.restore;
    if ((this.#kept?.length ?? 0) > replayEvents || this.#keptCharacters > historyBytes) {
      this.#forget(
        `the episode has more than ${replayEvents} events (REPLAY_EVENTS) or ${historyBytes} characters (HISTORY_BYTES)`,
      );
    }
  }

  #forget(gap: string | undefined): void {
    this.#kept = [];
    this.#keptCharacters = 0;
    this.#gap = gap;
  }
}

/** The answer without the view and without `metadata.openenv`, which depend on the client. */
function bare(answer: Answer): Answer {
  if (!("type" in answer) || answer.type !== "observation") return answer;
  const { observation, metadata } = answer.data;
  if (metadata === undefined) {
    // Most answers have nothing to leave out: the same object is sent, with the text that was recorded.
    const own = observation["metadata"] as object | undefined;
    if (own && Object.keys(own).length === 0 && !("view" in answer)) return answer;
    return { type: "observation", data: { ...answer.data, observation: { ...observation, metadata: {} } } };
  }
  const { openenv: _ours, ...rest } = metadata as JsonObject;
  const data: typeof answer.data = { ...answer.data, observation: { ...observation, metadata: rest }, metadata: rest };
  if (Object.keys(rest).length === 0) delete data.metadata;
  return { type: "observation", data };
}
