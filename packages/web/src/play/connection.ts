import { openServerSocket, type ServerSocket, type ServerSocketEnd } from "../server/server-socket.js";

/** How the page stands with its server. Times are Unix milliseconds. */
export interface ConnectionState {
  /** `queued`: the server has no free place yet. `idle`: the page closed it and waits to be told. */
  status: "connecting" | "queued" | "connected" | "lost" | "idle";
  /** In the queue of the server, from 1 on; 0 outside of it. */
  place: number;
  /** How the last connection ended, or why none could be made. */
  end: ServerSocketEnd | undefined;
  endedAt: number;
  /** When the next try is made; undefined while one is under way. */
  nextTryAt: number | undefined;
  /** True once a connection was open. */
  wasOpen: boolean;
  /** How many sessions there were, this one included. */
  sessions: number;
}

/** Seconds before each new try; the last one again and again. */
const BACKOFF_S = [1, 2, 4, 8, 15];

/** A server without a free place says so right after the handshake; until then it would seem to be there. */
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

/** Keeps a session open: a connection that is lost is made again, as a new session. */
export class PlayConnection {
  state: ConnectionState = START;
  socket: ServerSocket | undefined;
  readonly #changed: (lost: ServerSocketEnd | undefined) => void;
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts the attempts, so that one that was given up changes nothing when it comes to an end. */
  #attempt = 0;

  /** `changed` is told when the state is another one, and why when a session was lost. */
  constructor(changed: (lost: ServerSocketEnd | undefined) => void) {
    this.#changed = changed;
  }

  async open(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.socket) return;
    const attempt = ++this.#attempt;
    this.#set({ status: this.state.end ? "lost" : "connecting", nextTryAt: undefined, place: 0 });
    try {
      const socket = await openServerSocket({
        ended: (end) => this.#lose(attempt, end),
        queued: (place) => this.#queue(attempt, place),
      });
      if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, REFUSAL_MS));
      if (attempt !== this.#attempt) return socket.close();
      this.socket = socket;
      this.#set({ end: undefined, wasOpen: true });
      this.#queue(attempt, this.state.place);
    } catch (error) {
      this.#lose(attempt, { code: 0, reason: (error as Error).message });
    }
  }

  /** The server answered: the next loss is tried again soon. */
  answered(): void {
    this.#tries = 0;
  }

  /** Ends the session, and with `again` opens another one. */
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
    // One that was refused has no close code.
    const hadSession = this.socket !== undefined && this.state.status === "connected" && end.code !== 0;
    this.#attempt++;
    this.socket = undefined;
    const wait = (BACKOFF_S[Math.min(this.#tries++, BACKOFF_S.length - 1)] as number) * 1000;
    this.#timer = setTimeout(() => void this.open(), wait);
    const isNews = hadSession || this.state.end === undefined || end.places !== undefined;
    // A try that fails tells less than how the session was lost.
    const told = isNews ? { end, endedAt: Date.now() } : {};
    this.state = { ...this.state, status: "lost", ...told, nextTryAt: Date.now() + wait };
    this.#changed(hadSession ? end : undefined);
  }

  #set(change: Partial<ConnectionState>): void {
    this.state = { ...this.state, ...change };
    this.#changed(undefined);
  }
}
