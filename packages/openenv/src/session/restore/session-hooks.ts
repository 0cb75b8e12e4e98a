import type { View } from "../../protocol/web.js";
import type { Eventual, MaybePromise } from "../../util/types.js";
import type { Answer, SessionCallOptions } from "../calls/call.js";
import type { PeerRequest } from "../calls/peer-request.js";
import type { SessionEvent } from "../calls/session-event.js";

/** The call of an event. */
export interface EventCall {
  readonly options: SessionCallOptions;
  /** The time by `performance.now()`. */
  readonly startedAt: number;
  readonly view?: View | undefined;
}

/** What a part of the server adds to a session. A session without hooks is called directly. */
export interface SessionHooks {
  /**
   * Called when a request arrives, before its turn: calls `perform` of the session, or answers instead with a stored answer
   * or a refusal. Never throws or rejects.
   */
  around?(request: PeerRequest, options: SessionCallOptions): Eventual<Answer>;
  /**
   * Called after each event, before its answer leaves the session and before the next request; `takeImage(session)` is
   * then the state after the event. The event may share objects with the environment: serialise it before returning a
   * promise. If it throws or rejects, the answer is an error.
   */
  record?(event: SessionEvent, call: EventCall): MaybePromise<void>;
  /** `view` of the recorded call is set if the environment has a view. */
  readonly views?: boolean;
  /** `record` does not change the event, and keeps nothing of it. */
  readonly brief?: boolean;
  /** Called when the tool calls of agents become steps, before the client learns it. */
  chooseSteps?(): MaybePromise<void>;
  /** A commit of the session has succeeded, which began then, by `performance.now()`. */
  committed?(since: number): void;
  /** The session has lost its connection and waits for its client. */
  detached?(): void;
  /** The session has ended. */
  ended?(reason: string): void;
}
