import type { ForkBody, ForkRequest } from "../../protocol/http.js";
import { type Extension, errorData, type ResumedMessage } from "../../protocol/messages.js";
import type { Eventual } from "../../util/types.js";
import type { SessionOpener } from "../attachable-session.js";
import type { Cancels } from "../calls/cancels.js";
import type { ErrorMessage } from "../messages/message-codec.js";
import type { Session } from "../session.js";
import { SessionRejectedError } from "../session-rejected-error.js";
import type { Waiter } from "./session-queue.js";

export interface JournalSettings {
  /** The place of the journal; undefined for none. */
  journal?: string | undefined;
  journalDurability: "process" | "disk";
}

/** Limits of the resumable sessions of one server. */
export interface ResumeLimits {
  /** Milliseconds that a session without a connection keeps its slot while another client needs one. */
  guaranteeMs: number;
  /** Maximum number of answers that a client leaves unacknowledged. */
  answers: number;
  /** Bytes that the stored requests and answers of all sessions may hold; a character counts as one. */
  bytes: number;
  /** The time limit of a call, milliseconds, where there is one. */
  stepTimeoutMs?: number | undefined;
}

export const RESUME_DEFAULTS: ResumeLimits = { guaranteeMs: 60_000, answers: 64, bytes: 256 * 1024 * 1024 };

/** A session, or those of a batch socket, that outlives its connection. */
export interface KeptSession {
  /** A session, or the batch of a socket. */
  readonly target: Session | { readonly id: string };
  /** Another process can continue it. */
  readonly isRestorable: boolean;
  /** The client ends the session. */
  isReleased: boolean;
  /** They cancel the request with a number that is being answered. */
  readonly cancels: Cancels;
}

/** Keeps the sessions of a server for clients that lose their connection, and in a journal for other processes. */
export interface SessionKeeper {
  readonly addresses: SessionAddresses;
  readonly hasJournal: boolean;
  /** Slots for sessions of the journal whose clients may come back. */
  readonly reserved: number;
  /** Open sessions that have no connection. */
  readonly detached: number;
  /** Sessions that another process can continue: a server that stops does not wait for them. */
  readonly movable: number;
  /** The number of connections that have resumed something. */
  readonly resumed: number;
  /** Sessions whose answer waits for its commit. */
  readonly unstored: number;
  /** Sessions that another process can continue once the code of their cancelled call has ended. */
  readonly cancelled: number;

  /** Opens the journal that the settings name. @throws ConfigError */
  start(settings: KeeperSettings): Promise<AsyncDisposable | undefined>;
  /** Finds out whether other servers can continue sessions in the middle of an episode. Never rejects. */
  findTakers(isDraining: boolean): Promise<void>;
  /**
   * Who has the session, by the journal: a sibling is another worker of this server, as an owner; without one this worker
   * may take it over. Resolves with undefined for an unknown id. Undefined without a journal.
   */
  holderOf(id: string): Promise<{ sibling?: string } | undefined> | undefined;
  /** Leaves all sessions that can be continued to the next process. */
  releaseAll(): void;

  /** True for the key of a session or of a batch that is kept. */
  has(key: string): boolean;
  /** Why the session of an address was lost; undefined when it was not. */
  reasonFor(key: string): string | undefined;
  /** Executes each request of the session that has an id once, from now on. The result says which ids were used. */
  remember(session: Session): { has(id: string): boolean };
  /** Answers the frames of a socket, of which the first one resumes its session, or makes it resumable. */
  framesFor(socket: ResumingSocket, opening: { id: string | null; opener: SessionOpener }): ResumeFrames;
  /** Opens copies that wait for sockets which resume them. @throws SessionRejectedError */
  fork(session: Session, request: ForkRequest): Promise<ForkBody>;

  /**
   * The connection is lost: the session is kept for its client, and ends when others need room. `isPage`: a page was left,
   * which comes back within seconds, if it was loaded again, or not at all.
   */
  detach(kept: KeptSession, isPage?: boolean): void;
  /** Its client ends the session. */
  release(session: Session): void;
  /** The environment is lost. True when the session continues in another process or environment, so that it ends here. */
  moveAway(session: Session, reason: string): boolean;
  ended(session: Session, reason: string): void;
  endedBatch(id: string, reason: string): void;
  /** Another worker that had the session of the address has ended. */
  loseAddress(key: string): void;
  endOverdue(now: number, windowMs: number): void;
  /** Closes connections none of whose sessions has had a request for so long; undefined for no limit. */
  detachIdle(idleMs: number | undefined, isWatched: (session: Session) => boolean): void;
}

export interface KeeperSettings extends JournalSettings {
  /** The number of workers that share the sessions that have no process. */
  workers: number;
  sessionTimeoutMs: number | null;
}

/** The connection that a session is attached to. */
export interface DurableHolder {
  /** Another connection has resumed the session: nothing that this one has read is executed any more. */
  fence(): void;
  /** The session continues in another process: closes the connection, and the client connects again. */
  moved(): void;
  /** True when its peer answers a ping within a second. */
  isAlive(): Promise<boolean>;
  /** Closes the connection, which detaches the session. */
  drop(code: number, reason: string): void;
}

/** A socket with the extension `resume`. */
export interface ResumingSocket extends DurableHolder {
  readonly session: Session;
  readonly batch: { readonly id: string } | undefined;
  readonly extensions: readonly Extension[];
  readonly ended: boolean;
  durable: KeptSession | undefined;
  /** It serves the session, or those of the batch, from now on. */
  use(target: KeptSession["target"]): void;
  /** Reads nothing more, and closes after the answer. */
  endAfterAnswer(code: number, reason: string): void;
}

/** A text frame or a binary one. */
export type Frame = string | Uint8Array;

/** Stands for an answer that could not be stored: its socket closes with 1012, and its client repeats the request. */
export const WITHHELD: unique symbol = Symbol("withheld");
export type Withheld = typeof WITHHELD;

/** A frame with its values, as it was received, and how another one is read. */
export interface ReceivedFrame {
  frame: unknown;
  raw: Frame;
  read(stored: Frame): unknown;
}

/** The protocol of a socket: how it answers a frame. */
export interface FrameDoor {
  /** Executes a request, whose answer gets the number; null when the peer requested to close. */
  answer(frame: unknown, seq?: number): Eventual<Frame> | null;
  render(reply: ErrorMessage | ResumedMessage, seq?: number): Frame;
}

/** Answers the frames of a socket with the extension `resume`: each numbered request is executed once. */
export interface ResumeFrames {
  answer(received: ReceivedFrame, door: FrameDoor): Frame | Promise<Frame | Withheld> | null;
}

/**
 * What a message does with the session of its address: `reset` and `open` open one if there is none, `call` does unless
 * the session has been lost, and `find` never does.
 */
export type AddressUse = "reset" | "open" | "call" | "find";

/** A socket that uses an address. */
export type AddressHolder = DurableHolder &
  Waiter & {
    /** It is attached to the session from now on, unless it has closed. */
    take(kept: KeptSession): void;
  };

export interface AddressRequest {
  use: AddressUse;
  opener: SessionOpener;
  /** The socket, which is attached; undefined for an HTTP request. */
  holder?: AddressHolder;
  /** An HTTP request that may wait for a slot; it leaves with `leave`. */
  waiter?: Waiter | undefined;
  /** The id by which the client also names the session. */
  id?: string | undefined;
}

/** Sessions that clients reach by an address: `/session/<name>`. The key of an address is the hash of its name. */
export interface SessionAddresses {
  /** Number of sessions that the connected sockets are about to open. */
  readonly expected: number;
  /** True when this server has the session of the address, is about to open it, or knows that it has been lost. */
  has(address: string): boolean;
  /** In production only the orchestrator may reset, step and end sessions by their address. */
  isReserved(orchestrator: boolean): boolean;
  /** A socket has connected. */
  expect(address: string, holder: DurableHolder): void;
  /** The session of the address, opened if necessary. @throws SessionRejectedError */
  attach(address: string, request: AddressRequest): Promise<KeptSession | undefined>;
  /** A socket, or an HTTP request, has closed before its session was open. */
  leave(address: string, waiter: Waiter): void;
}

/** Why a request that needs the part is refused. */
export function withoutKeeper(what: string): SessionRejectedError {
  const message = `${what} needs the part "durable" of openenv-ts, which this server lacks.`;
  return new SessionRejectedError(errorData("SESSION_ERROR", message));
}

export const NO_ADDRESSES: SessionAddresses = {
  expected: 0,
  has: () => false,
  isReserved: () => false,
  expect: () => {},
  attach: () => Promise.reject(withoutKeeper("a session by address")),
  leave: () => {},
};
