import {
  openServerSocket,
  type ServerSocket,
  type ServerSocketEnd,
  type SessionCopy,
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
}

/** Seconds before each new attempt; the last value repeats. */
const BACKOFF_S = [1, 2, 4, 8, 15];

/** A full server reports this right after the handshake; wait for it before the connection counts as open. */
const REFUSAL_MS = 100;

const START: ConnectionState = {
  status: "connecting",
  place: 0,
  end: undefined,
  endedAt: 0,
  nextTryAt: undefined,
  wasOpen: false,
  sessions: 0,
};

/** Keeps a session open: reconnects with a new session after a lost connection. */
export class PlayConnection {
  state: ConnectionState = START;
  socket: ServerSocket | undefined;
  readonly #changed: (lost: ServerSocketEnd | undefined) => void;
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of the attempt, so that the result of a cancelled attempt is ignored. */
  #attempt = 0;

  /** The session to open first. */
  #copy: SessionCopy | undefined;

  /** `changed` is called when the state changes, with the reason when a session was lost. */
  constructor(changed: (lost: ServerSocketEnd | undefined) => void, copy: SessionCopy | undefined) {
    this.#changed = changed;
    this.#copy = copy;
  }

  async open(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.socket) return;
    const attempt = ++this.#attempt;
    const copy = this.#copy;
    this.#copy = undefined;
    this.#set({ status: this.state.end ? "lost" : "connecting", nextTryAt: undefined, place: 0 });
    try {
      const events = {
        ended: (end: ServerSocketEnd) => this.#lose(attempt, end),
        queued: (place: number) => this.#queue(attempt, place),
      };
      const socket = await openServerSocket(events, copy);
      if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, REFUSAL_MS));
      if (attempt !== this.#attempt) return socket.close();
      this.socket = socket;
      this.#set({ end: undefined, wasOpen: true });
      this.#queue(attempt, this.state.place);
    } catch (error) {
      this.#lose(attempt, { code: 0, reason: (error as Error).message });
    }
  }

  /** The server responded, so the next reconnect starts with a short delay. */
  answered(): void {
    this.#tries = 0;
  }

  /** Closes the session, and with `again` opens another one. */
  leave(again: boolean): void {
    this.#attempt++;
    this.socket?.close();
    this.socket = undefined;
    clearTimeout(this.#timer);
    this.#set({ status: "idle", nextTryAt: undefined });
    if (again) void this.open();
  }

  #queue(attempt: number, place: number): void {
    if (attempt !== this.#attempt) return;
    if (!this.socket) this.#set({ place });
    else if (place > 0) this.#set({ place, status: "queued" });
    else this.#set({ place, status: "connected", sessions: this.state.sessions + 1 });
  }

  #lose(attempt: number, end: ServerSocketEnd): void {
    if (attempt !== this.#attempt) return;
    // A rejected connection has no close code.
    const hadSession = this.socket !== undefined && this.state.status === "connected" && end.code !== 0;
    this.#attempt++;
    this.socket = undefined;
    const wait = (BACKOFF_S[Math.min(this.#tries++, BACKOFF_S.length - 1)] as number) * 1000;
    this.#timer = setTimeout(() => void this.open(), wait);
    const isNews = hadSession || this.state.end === undefined || end.places !== undefined;
    // The reason of the lost session is more useful than that of a failed attempt.
    const lost = isNews ? { end, endedAt: Date.now() } : {};
    this.state = { ...this.state, status: "lost", ...lost, nextTryAt: Date.now() + wait };
    this.#changed(hadSession ? end : undefined);
  }

  #set(change: Partial<ConnectionState>): void {
    this.state = { ...this.state, ...change };
    this.#changed(undefined);
  }
}
