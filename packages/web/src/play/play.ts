import type { JsonObject } from "openenv-ts/protocol";
import { type RoundTrip, ServerSocketClosedError, type ServerSocketEnd } from "../server/server-socket.js";
import { readAnswer, readFailure, unanswered } from "./answer.js";
import { type ConnectionState, PlayConnection } from "./connection.js";
import {
  addEvent,
  addReset,
  addStep,
  countAsServer,
  EMPTY_TIMELINE,
  latestEpisode,
  type NewStep,
  nameEpisode,
  type StepFailure,
  stepsTaken,
  type Timeline,
  type TimelineStep,
} from "./timeline.js";

/** What `state` answered, and after which step it was asked. */
export interface StateView {
  value: JsonObject | null;
  failure: StepFailure | undefined;
  /** How many steps the timeline had. */
  afterSteps: number;
  stepNumber: number;
}

/** Timeline that was read from a file. */
export interface Imported {
  name: string;
  timeline: Timeline;
  /** Names of the environments that it was played in. */
  environments: readonly string[];
}

/** All that the Play view shows. A value: every change makes another one. */
export interface PlaySnapshot {
  connection: ConnectionState;
  timeline: Timeline;
  /** Index of the selected step in the timeline that is shown; -1 for none. */
  selected: number;
  /** What is on its way. */
  pending: { kind: "reset" | "step" | "state"; since: number } | undefined;
  /** Steps that came while another one than the last was selected. */
  unseen: number;
  state: StateView | undefined;
  imported: Imported | undefined;
  /** The timeline has steps that no file has. */
  unsaved: boolean;
}

/** An answer that comes sooner is drawn at once, without a frame in which every button is disabled. */
const PENDING_SHOWN_MS = 100;

/** Whether a reset or a step may be sent: one that comes while the state is read waits its turn. */
export function isFree({ connection, pending }: PlaySnapshot): boolean {
  return connection.status === "connected" && (pending === undefined || pending.kind === "state");
}

/** One visitor's game: a session of their own, and all that happened in it. */
export class Play {
  #snapshot: PlaySnapshot;
  readonly #listeners = new Set<() => void>();
  readonly #connection: PlayConnection;
  /** The reset or step whose answer is due. */
  #asked: { kind: "reset" | "step"; action: JsonObject } | undefined;

  constructor() {
    this.#connection = new PlayConnection((lost) => this.#connectionChanged(lost));
    this.#snapshot = {
      connection: this.#connection.state,
      timeline: EMPTY_TIMELINE,
      selected: -1,
      pending: undefined,
      unseen: 0,
      state: undefined,
      imported: undefined,
      unsaved: false,
    };
    void this.#connection.open();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): PlaySnapshot => this.#snapshot;

  /** Starts an episode. Resolves with its step, undefined when no answer came. */
  async reset(data: JsonObject): Promise<TimelineStep | undefined> {
    const message = { type: "reset", data };
    const step = await this.#ask("reset", data, message);
    if (step && !step.failure) await this.refreshState();
    return step;
  }

  /** Sends an action. Resolves with its step, undefined when no answer came. */
  async send(action: JsonObject): Promise<TimelineStep | undefined> {
    const step = await this.#ask("step", action, { type: "step", data: action });
    // Of the steps without a result the server counts some; its state says which.
    if (step?.failure && step.failure.code !== "VALIDATION_ERROR") await this.refreshState();
    return step;
  }

  async refreshState(): Promise<void> {
    await this.#exchange("state", { type: "state" }, ({ received: { type, data } }) => {
      const failure = type === "error" ? readFailure(data) : undefined;
      const { episode_id: id, step_count: count } = data;
      const counted = countAsServer(this.#snapshot.timeline, failure ? undefined : count);
      const timeline = typeof id === "string" && !failure ? nameEpisode(counted, id) : counted;
      const stepNumber = stepsTaken(timeline);
      const state = { value: failure ? null : data, failure, afterSteps: timeline.steps.length, stepNumber };
      return { state, timeline };
    });
  }

  select(index: number): void {
    const { steps } = this.shown();
    if (steps.length === 0) return;
    const selected = Math.max(0, Math.min(index, steps.length - 1));
    this.#set({ selected, unseen: selected === steps.length - 1 ? 0 : this.#snapshot.unseen });
  }

  /** The timeline on the screen: the one that was imported, else that of this session. */
  shown(): Timeline {
    return this.#snapshot.imported?.timeline ?? this.#snapshot.timeline;
  }

  /** Shows a timeline of a file; undefined goes back to that of this session. */
  show(imported: Imported | undefined): void {
    const steps = (imported?.timeline ?? this.#snapshot.timeline).steps.length;
    this.#set({ imported, selected: imported ? Math.min(0, steps - 1) : steps - 1, unseen: 0 });
  }

  saved(): void {
    this.#set({ unsaved: false });
  }

  reconnect(): void {
    void this.#connection.open();
  }

  /** Gives up what is under way: the session ends, and a new one is opened unless `again` is false. */
  leave(again = true): void {
    const { pending } = this.#snapshot;
    const hadSession = this.#connection.state.status === "connected";
    this.#addUnanswered("ABORTED", "It was canceled before the response arrived");
    const lost = hadSession && latestEpisode(this.#snapshot.timeline) !== undefined;
    if (lost) this.#note("Session closed", pending ? "before the response arrived" : "by this page");
    this.#connection.leave(again);
  }

  async #ask(kind: "reset" | "step", action: JsonObject, message: JsonObject): Promise<TimelineStep | undefined> {
    const asked = this.#connection.socket && isFree(this.#snapshot) ? { kind, action } : undefined;
    if (asked) this.#asked = asked;
    const isAnswered = await this.#exchange(kind, message, (exchange) => {
      this.#asked = undefined;
      return this.#withStep(kind, readAnswer(kind, action, exchange));
    });
    return isAnswered ? this.#snapshot.timeline.steps.at(-1) : undefined;
  }

  /** What was sent stays in the timeline, also when the session is gone before the answer. */
  #addUnanswered(code: string, message: string): void {
    const { pending } = this.#snapshot;
    if (!this.#asked) return;
    const { kind, action } = this.#asked;
    this.#asked = undefined;
    const ms = pending ? Date.now() - pending.since : 0;
    this.#set(this.#withStep(kind, unanswered(kind, action, { code, message, ms })));
  }

  #withStep(kind: "reset" | "step", added: NewStep): Partial<PlaySnapshot> {
    const before = this.#snapshot;
    const timeline = (kind === "reset" ? addReset : addStep)(before.timeline, added);
    const last = timeline.steps.length - 1;
    // Whoever looks at an older step goes on looking at it; whoever looks at a file comes back to the session.
    const follows = before.imported !== undefined || before.selected >= last - 1;
    return {
      timeline,
      imported: undefined,
      unsaved: true,
      ...(follows ? { selected: last, unseen: 0 } : { unseen: before.unseen + 1 }),
    };
  }

  /** Makes the change that `read` returns for the answer. False when nothing was sent or the session was lost. */
  async #exchange(
    kind: "reset" | "step" | "state",
    message: JsonObject,
    read: (exchange: RoundTrip) => Partial<PlaySnapshot>,
  ): Promise<boolean> {
    const { socket } = this.#connection;
    const before = this.#snapshot.pending;
    if (!socket || !isFree(this.#snapshot) || (kind === "state" && before)) return false;
    const pending = { kind, since: before?.since ?? Date.now() };
    this.#snapshot = { ...this.#snapshot, pending };
    const showPending = setTimeout(() => this.#set({}), PENDING_SHOWN_MS);
    // A step may have been sent while the state was read.
    const end = () => (this.#snapshot.pending === pending ? { pending: undefined } : {});
    try {
      const exchange = await socket.ask(message);
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
    if (lost) this.#addUnanswered("SESSION_LOST", `The session ended before the answer: ${lost.reason}`);
    if (lost && this.#snapshot.timeline.steps.length > 0) {
      this.#note("Connection lost", lost.code > 0 ? `close code ${lost.code}` : "");
    }
    this.#set({ connection: this.#connection.state });
  }

  #note(text: string, detail: string): void {
    this.#set({ timeline: addEvent(this.#snapshot.timeline, text, detail) });
  }

  #set(change: Partial<PlaySnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of this.#listeners) listener();
  }
}
