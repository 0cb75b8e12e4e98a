import type { JsonObject } from "openenv-ts/protocol";
import { newSession, type PageSession } from "../server/kept-session.js";
import {
  FINAL_CODES,
  openServerSocket,
  type RoundTrip,
  type ServerSocket,
  ServerSocketClosedError,
  type ServerSocketEnd,
} from "../server/server-socket.js";

/** The state of the connection to the server. Times are Unix milliseconds. */
export interface ConnectionState {
  /** `queued`: the server is full. `idle`: the page closed the connection and does not reconnect by itself. */
  status: "connecting" | "queued" | "connected" | "lost" | "idle";
  /** Position in the queue of the server, starting at 1; 0 outside of it. */
  place: number;
  /** The end of the last connection, or the reason why connecting failed. */
  end: ServerSocketEnd | undefined;
  endedAt: number;
  /** Time of the next attempt; undefined during an attempt. */
  nextTryAt: number | undefined;
  /** True once a connection was open. */
  wasOpen: boolean;
  /** Number of sessions so far, including this one. */
  sessions: number;
  /** The session waits on the server for the next connection. */
  isKept: boolean;
}

/** Seconds before each new attempt; the last value repeats. */
const BACKOFF_S = [1, 2, 4, 8, 15];

/** A full server that keeps no sessions reports this right after the handshake: until then the connection is not open. */
const REFUSAL_MS = 100;

const START: ConnectionState = {
  status: "idle",
  place: 0,
  end: undefined,
  endedAt: 0,
  nextTryAt: undefined,
  wasOpen: false,
  sessions: 0,
  isKept: false,
};

/** Keeps a session open: after a lost connection it returns to the session, or opens a new one if that is gone. */
export class PlayConnection {
  state: ConnectionState = START;
  readonly #changed: (lost: ServerSocketEnd | undefined) => void;
  /** The session that the next socket returns to. */
  #kept: PageSession | undefined;
  #socket: ServerSocket | undefined;
  /** A socket that waits for its session. */
  #opening: ServerSocket | undefined;
  /** Requests that wait for the next socket of the session. */
  #waiting: { resolve(socket: ServerSocket): void; reject(error: Error): void }[] = [];
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of the attempt, so that the result of a cancelled attempt is ignored. */
  #attempt = 0;

  /** `changed` is called when the state changes, with the reason when a session was lost. `kept`: the session to open first. */
  constructor(changed: (lost: ServerSocketEnd | undefined) => void, kept: PageSession | undefined) {
    this.#changed = changed;
    this.#kept = kept;
  }

  /** What the page has to keep to return to the session; undefined without one that outlives its socket. */
  get kept(): PageSession | undefined {
    return this.#kept;
  }

  async open(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#socket) return;
    const attempt = ++this.#attempt;
    this.#opening?.drop();
    const isNew = this.#kept === undefined;
    this.#set({ status: this.state.end ? "lost" : "connecting", nextTryAt: undefined, place: 0 });
    try {
      const events = {
        ended: (end: ServerSocketEnd) => this.#lose(attempt, end),
        queued: (place: number) => this.#queue(attempt, place),
      };
      const socket = await openServerSocket(events, this.#kept ?? newSession());
      if (attempt === this.#attempt) this.#opening = socket;
      await socket.ready;
      if (!socket.kept && attempt > 1) await new Promise((resolve) => setTimeout(resolve, REFUSAL_MS));
      if (attempt !== this.#attempt) return isNew ? socket.close() : socket.drop();
      this.#opening = undefined;
      this.#socket = socket;
      this.#kept = socket.kept;
      const sessions = this.state.sessions + (isNew || this.state.sessions === 0 ? 1 : 0);
      const status = this.state.place > 0 ? "queued" : "connected";
      this.#set({ end: undefined, wasOpen: true, isKept: false, status, sessions });
      for (const { resolve } of this.#waiting.splice(0)) resolve(socket);
    } catch (error) {
      const { end = { code: 0, reason: (error as Error).message } } = error as Partial<ServerSocketClosedError>;
      this.#lose(attempt, end);
    }
  }

  /**
   * Sends a request, once more on each next socket of the session: the server executes it once.
   * @throws ServerSocketClosedError when the session ends before the response.
   */
  async ask(message: JsonObject): Promise<RoundTrip> {
    for (;;) {
      const socket =
        this.#socket ?? (await new Promise<ServerSocket>((resolve, reject) => this.#waiting.push({ resolve, reject })));
      try {
        return await socket.ask(message);
      } catch (error) {
        if (!(error instanceof ServerSocketClosedError) || this.#kept === undefined) throw error;
      }
    }
  }

  /** The server responded, so the next reconnect starts with a short delay. */
  answered(): void {
    this.#tries = 0;
  }

  /** Closes the session, and with `again` opens another one. */
  leave(again: boolean): void {
    this.#attempt++;
    const socket = this.#socket ?? this.#opening;
    this.#forget({ code: 1000, reason: "this page closed it" });
    socket?.close();
    clearTimeout(this.#timer);
    this.#set({ status: "idle", nextTryAt: undefined, isKept: false });
    if (again) void this.open();
  }

  #queue(attempt: number, place: number): void {
    if (attempt !== this.#attempt) return;
    const status = place > 0 ? "queued" : this.#socket ? "connected" : this.state.status;
    this.#set({ place, status });
  }

  #lose(attempt: number, end: ServerSocketEnd): void {
    if (attempt !== this.#attempt) return;
    // A rejected connection has no close code.
    const hadSession = this.#socket !== undefined && this.state.status === "connected" && end.code !== 0;
    const isKept = this.#kept !== undefined && !FINAL_CODES.includes(end.code);
    const isLost = !isKept && (hadSession || this.#kept !== undefined);
    this.#attempt++;
    if (isKept) this.#socket = this.#opening = undefined;
    else this.#forget(end);
    const isElsewhere = end.code === RESUMED_ELSEWHERE;
    const wait = (BACKOFF_S[Math.min(this.#tries++, BACKOFF_S.length - 1)] as number) * 1000;
    if (!isElsewhere) this.#timer = setTimeout(() => void this.open(), wait);
    const isNews = hadSession || isLost || this.state.end === undefined || end.places !== undefined;
    // The reason of the lost session is more useful than that of a failed attempt.
    const lost = isNews ? { end, endedAt: Date.now() } : {};
    const next = isElsewhere ? { status: "idle" as const, nextTryAt: undefined } : { nextTryAt: Date.now() + wait };
    this.state = { ...this.state, status: "lost", ...lost, ...next, isKept };
    this.#changed(isLost ? end : undefined);
  }

  /** No socket returns to the session. */
  #forget(end: ServerSocketEnd): void {
    this.#socket = this.#opening = this.#kept = undefined;
    for (const { reject } of this.#waiting.splice(0)) reject(new ServerSocketClosedError(end));
  }

  #set(change: Partial<ConnectionState>): void {
    this.state = { ...this.state, ...change };
    this.#changed(undefined);
  }
}

/** The close code of a socket whose session another one has taken over. */
const RESUMED_ELSEWHERE = 4001;
