import type { JsonObject } from "openenv-ts/protocol";
import type { SessionCopy } from "../server/kept-session.js";
import { type RoundTrip, ServerSocketClosedError, type ServerSocketEnd } from "../server/server-socket.js";
import { readAnswer, readFailure, unanswered } from "./answer.js";
import { type ConnectionState, PlayConnection } from "./connection.js";
import { isTooLarge, type Origin, openFork, save, takeSaved } from "./saved.js";
import {
  addEvent,
  addReset,
  addStep,
  countAsServer,
  cutAfter,
  EMPTY_TIMELINE,
  eventOf,
  latestEpisode,
  type NewStep,
  nameEpisode,
  type StepFailure,
  stepsTaken,
  type Timeline,
  type TimelineStep,
} from "./timeline.js";

/** The last response to `state`, and the step after which it was requested. */
export interface StateView {
  value: JsonObject | null;
  failure: StepFailure | undefined;
  /** Length of the timeline at that time. */
  afterSteps: number;
  stepNumber: number;
}

/** A timeline from a file. */
export interface Imported {
  name: string;
  timeline: Timeline;
  /** Names of its environments. */
  environments: readonly string[];
}

/** All data of the Play view. Immutable: every change creates a new object. */
export interface PlaySnapshot {
  connection: ConnectionState;
  timeline: Timeline;
  /** Index of the selected step in the shown timeline; -1 for none. */
  selected: number;
  /** The pending request. */
  pending: { kind: "reset" | "step" | "state"; since: number } | undefined;
  /** Steps that arrived while an older one was selected. */
  unseen: number;
  state: StateView | undefined;
  imported: Imported | undefined;
  /** Why there is no fork of the session, or of a recorded episode. */
  notForked: string | undefined;
  /** The timeline has steps that were not exported. */
  unsaved: boolean;
  /** What the session is a copy of. */
  origin: Origin | undefined;
  /** Number of steps that were too large to keep over a reload. */
  dropped: number;
}

/** A faster response is rendered at once, without a frame with disabled buttons. */
const PENDING_SHOWN_MS = 100;

/** A state that takes longer to read is only read on demand, because each step waits for it. */
const SLOW_STATE_MS = 250;

/** True when a reset or a step may be sent; during a state request it is queued. */
export function isFree({ connection, pending }: PlaySnapshot): boolean {
  return connection.status === "connected" && (pending === undefined || pending.kind === "state");
}

/** The session of one visitor, and everything that happened in it. */
export class Play {
  #snapshot: PlaySnapshot;
  /** The time that the last read of the state took. */
  #stateMs = 0;
  readonly #listeners = new Set<() => void>();
  readonly #connection: PlayConnection;
  #isStarted = false;
  /** The reset or step without an answer of the page before this one. */
  #resend: { kind: "reset" | "step"; action: JsonObject } | undefined;
  /** The pending reset or step. */
  #sent: { kind: "reset" | "step"; action: JsonObject } | undefined;

  constructor(saved = takeSaved()) {
    const { timeline = EMPTY_TIMELINE, kept, sent, origin, dropped = 0 } = saved ?? {};
    // A request that only read something is not repeated.
    if (kept) kept.skips = kept.pending === undefined || kept.pending !== sent?.kind;
    this.#connection = new PlayConnection((lost) => this.#connectionChanged(lost), kept);
    this.#snapshot = {
      connection: this.#connection.state,
      timeline,
      selected: timeline.steps.length - 1,
      pending: undefined,
      unseen: 0,
      state: undefined,
      imported: undefined,
      notForked: undefined,
      unsaved: timeline.steps.length > 0,
      origin,
      dropped,
    };
    addEventListener("pagehide", () => this.#save());
    // A page in the background may end without an event, and one that is shown may be copied with its tab.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#save() : save(undefined)));
    addEventListener("pageshow", () => save(undefined));
    this.#resend = sent;
  }

  /** Opens the session. Views of recorded episodes need none, and leave it to those who play. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#connection.open();
  }

  /** Keeps the session for the next page of the tab. */
  #save(): void {
    const { kept } = this.#connection;
    const { timeline, origin } = this.#snapshot;
    save(kept?.session_id ? { kept, timeline, sent: this.#sent ?? this.#resend, origin } : undefined);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): PlaySnapshot => this.#snapshot;

  /** Starts an episode. Resolves with its step, undefined without a response. */
  async reset(data: JsonObject): Promise<TimelineStep | undefined> {
    const message = { type: "reset", data };
    const step = await this.#ask("reset", data, message);
    if (step && !step.failure) await this.refreshState();
    return step;
  }

  /** Sends an action. Resolves with its step, undefined without a response. */
  async send(action: JsonObject): Promise<TimelineStep | undefined> {
    const step = await this.#ask("step", action, { type: "step", data: action });
    // The server counts some failed steps; its state tells which.
    const mayChange = step !== undefined && step.failure?.code !== "VALIDATION_ERROR";
    if (mayChange && (step.failure || this.#stateMs < SLOW_STATE_MS)) await this.refreshState();
    return step;
  }

  async refreshState(): Promise<void> {
    const start = performance.now();
    const isRead = await this.#exchange("state", { type: "state" }, ({ received: { type, data } }) => {
      const failure = type === "error" ? readFailure(data) : undefined;
      const { episode_id: id, step_count: count } = data;
      const counted = countAsServer(this.#snapshot.timeline, failure ? undefined : count);
      const timeline = typeof id === "string" && !failure ? nameEpisode(counted, id) : counted;
      const stepNumber = stepsTaken(timeline);
      const state = { value: failure ? null : data, failure, afterSteps: timeline.steps.length, stepNumber };
      return { state, timeline };
    });
    if (isRead) this.#stateMs = performance.now() - start;
  }

  /** Opens a copy of the session in a new tab, after this step or as it is now. */
  async fork(step: TimelineStep | undefined = this.#snapshot.timeline.steps.at(-1)): Promise<void> {
    const event = step && eventOf(this.#snapshot.timeline, step);
    await this.#exchange("state", { type: "fork", data: { count: 1, ...(event && { event }) } }, ({ received }) => {
      const [copy] = (received.data["sessions"] ?? []) as SessionCopy[];
      if (!copy) return { notForked: readFailure(received.data).message };
      const timeline = step ? cutAfter(this.#snapshot.timeline, step) : EMPTY_TIMELINE;
      const last = latestEpisode(timeline);
      const episode = last?.id ?? String(last?.number ?? 1);
      const origin = { episode, step: step?.number ?? 0, index: last?.index ?? 0 };
      const isOpen = openFork({ kept: { ...copy, ack: 0, attempt: 0 }, timeline, origin });
      return { notForked: isOpen ? undefined : "The browser did not open a new tab: allow it for this page." };
    });
  }

  /** A recorded episode was played again in this session, to the step to play on from or to a problem. */
  playedAgain(episode: string, problem: string | undefined): void {
    const { timeline } = this.#snapshot;
    const [last, step] = [latestEpisode(timeline), timeline.steps.at(-1)];
    if (problem !== undefined) return this.#set({ notForked: problem });
    this.#set({ origin: { episode, step: step?.number ?? 0, index: last?.index ?? 0 } });
  }

  dismissFork(): void {
    this.#set({ notForked: undefined });
  }

  select(index: number): void {
    const { steps } = this.shown();
    if (steps.length === 0) return;
    const selected = Math.max(0, Math.min(index, steps.length - 1));
    if (selected === this.#snapshot.selected) return;
    this.#set({ selected, unseen: selected === steps.length - 1 ? 0 : this.#snapshot.unseen });
  }

  /** The shown timeline: the imported one, else that of this session. */
  shown(): Timeline {
    return this.#snapshot.imported?.timeline ?? this.#snapshot.timeline;
  }

  /** Shows a timeline from a file; undefined returns to that of this session. */
  show(imported: Imported | undefined): void {
    const steps = (imported?.timeline ?? this.#snapshot.timeline).steps.length;
    this.#set({ imported, selected: imported ? Math.min(0, steps - 1) : steps - 1, unseen: 0 });
  }

  /** True when a reload continues with the whole timeline. */
  survives(): boolean {
    return Boolean(this.#connection.kept?.session_id) && !isTooLarge(this.#snapshot.timeline);
  }

  forgetDropped(): void {
    this.#set({ dropped: 0 });
  }

  saved(): void {
    this.#set({ unsaved: false });
  }

  reconnect(): void {
    void this.#connection.open();
  }

  /** Cancels the pending request: closes the session, and opens a new one unless `again` is false. */
  leave(again = true): void {
    const { pending } = this.#snapshot;
    const hadSession = this.#connection.state.status === "connected";
    this.#addUnanswered("ABORTED", "It was canceled before the response arrived");
    const lost = hadSession && latestEpisode(this.#snapshot.timeline) !== undefined;
    if (lost) this.#note("Session closed", pending ? "before the response arrived" : "by this page");
    this.#connection.leave(again);
  }

  async #ask(kind: "reset" | "step", action: JsonObject, message: JsonObject): Promise<TimelineStep | undefined> {
    const sent = isFree(this.#snapshot) ? { kind, action } : undefined;
    if (sent) this.#sent = sent;
    const isAnswered = await this.#exchange(kind, message, (exchange) => {
      this.#sent = undefined;
      return this.#withStep(kind, readAnswer(kind, action, exchange));
    });
    return isAnswered ? this.#snapshot.timeline.steps.at(-1) : undefined;
  }

  /** Keeps the request in the timeline when the session is lost before the response. */
  #addUnanswered(code: string, message: string): void {
    const { pending } = this.#snapshot;
    const sent = this.#sent ?? this.#resend;
    if (!sent) return;
    const { kind, action } = sent;
    this.#sent = this.#resend = undefined;
    const ms = pending ? Date.now() - pending.since : 0;
    this.#set(this.#withStep(kind, unanswered(kind, action, { code, message, ms })));
  }

  #withStep(kind: "reset" | "step", added: NewStep): Partial<PlaySnapshot> {
    const before = this.#snapshot;
    const timeline = (kind === "reset" ? addReset : addStep)(before.timeline, added);
    const last = timeline.steps.length - 1;
    // Keeps an older selected step; leaves an imported timeline for the session.
    const follows = before.imported !== undefined || before.selected >= last - 1;
    return {
      timeline,
      imported: undefined,
      unsaved: true,
      ...(follows ? { selected: last, unseen: 0 } : { unseen: before.unseen + 1 }),
    };
  }

  /**
   * Sends a request and applies the change that `read` returns. False when nothing was sent or the session was lost.
   */
  async #exchange(
    kind: "reset" | "step" | "state",
    message: JsonObject,
    read: (exchange: RoundTrip) => Partial<PlaySnapshot>,
  ): Promise<boolean> {
    const before = this.#snapshot.pending;
    if (!isFree(this.#snapshot) || (kind === "state" && before)) return false;
    const pending = { kind, since: before?.since ?? Date.now() };
    this.#snapshot = { ...this.#snapshot, pending };
    const showPending = setTimeout(() => this.#set({}), PENDING_SHOWN_MS);
    // A step may have been queued during the state request.
    const end = () => (this.#snapshot.pending === pending ? { pending: undefined } : {});
    try {
      const exchange = await this.#connection.ask(message);
      this.#connection.answered();
      this.#set({ ...read(exchange), ...end() });
      return true;
    } catch (error) {
      this.#set(end());
      if (error instanceof ServerSocketClosedError) return false;
      throw error;
    } finally {
      clearTimeout(showPending);
    }
  }

  #connectionChanged(lost: ServerSocketEnd | undefined): void {
    if (lost) this.#addUnanswered("SESSION_LOST", `The session ended before the response: ${lost.reason}`);
    if (lost && this.#snapshot.timeline.steps.length > 0) {
      this.#note("Connection lost", lost.reason);
    }
    this.#set({ connection: this.#connection.state });
    const again = this.#resend;
    if (!again || this.#connection.state.status !== "connected") return;
    this.#resend = undefined;
    void this[again.kind === "reset" ? "reset" : "send"](again.action);
  }

  #note(text: string, detail: string): void {
    this.#set({ timeline: addEvent(this.#snapshot.timeline, text, detail) });
  }

  #set(change: Partial<PlaySnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of this.#listeners) listener();
  }
}
