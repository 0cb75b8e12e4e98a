import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Backlog, Holder } from "../limits/backlog.js";

/** Requests of one connection that may wait for earlier answers. With more, the connection is paused. */
const MAX_WAITING = 16;
/** Approximate memory of a waiting request without a body. */
const REQUEST_BYTES = 4 * 1024;

const pipelines = new WeakMap<Duplex, Pipeline>();

export function findPipeline(socket: Duplex): Pipeline | undefined {
  return pipelines.get(socket);
}

/**
 * The requests of one connection, which Node reads and parses ahead without a limit. Requests that were read before the
 * pause wait as well, at most 64 kB. Each is charged to the backlog; while that is full, no request may wait.
 */
export class Pipeline implements Holder {
  readonly #socket: Socket;
  readonly #backlog: Backlog;
  #last: ServerResponse | undefined;
  #waiting = 0;
  /** Bytes of the answer that the peer has not taken. */
  #untaken = 0;
  #isPaused = false;
  #isCharged = false;
  /** Do not read until all requests are answered. */
  #isHeld = false;

  static of(socket: Socket, backlog: Backlog): Pipeline {
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = new Pipeline(socket, backlog);
      pipelines.set(socket, pipeline);
    }
    return pipeline;
  }

  private constructor(socket: Socket, backlog: Backlog) {
    this.#socket = socket;
    this.#backlog = backlog;
  }

  /**
   * Calls `begin` as soon as all earlier requests are answered, with whether it had to wait for them. Never calls it if the
   * connection ends first.
   */
  enter(response: ServerResponse, begin: (isPipelined: boolean) => void): void {
    this.#last = response;
    if (response.socket !== null) return begin(false);
    if (this.#waiting++ === 0) this.#watch();
    this.#backlog.hold(REQUEST_BYTES);
    this.#pauseIfFull();
    this.#backlog.relieve();
    response.once("socket", () => {
      if (this.#socket.destroyed || this.#waiting === 0) return;
      this.#waiting--;
      this.#backlog.give(REQUEST_BYTES);
      if (this.#isPaused && !this.#mustPause) this.#resume();
      begin(true);
    });
  }

  /** Charges the part of an answer that the peer has not taken, until the peer takes it. */
  answered(response: ServerResponse): void {
    const bytes = response.writableLength;
    if (bytes === 0 || this.#socket.destroyed) return;
    this.#watch();
    this.#untaken += bytes;
    this.#backlog.hold(bytes);
    response.once("close", () => {
      if (this.#untaken === 0) return;
      this.#untaken -= bytes;
      this.#backlog.give(bytes);
    });
    this.#backlog.relieve();
  }

  get heldBytes(): number {
    return this.#waiting * REQUEST_BYTES + this.#untaken;
  }

  shed(): void {
    this.#release();
    this.#socket.destroy();
  }

  /**
   * Stops reading a connection that Node has detached from HTTP until the pending answers are sent. Then
   * it calls `next`, which returns the connection to HTTP.
   */
  takeBack(next: () => void): void {
    const socket = this.#socket;
    const continueReading = (): void => {
      if (socket.destroyed || !socket.writable) return;
      // Listeners and timeout of the detached HTTP connection; the new one adds its own.
      socket.removeAllListeners("resume").removeAllListeners("pause").setTimeout(0);
      this.#isHeld = false;
      next();
      this.#resume();
    };
    if (this.#last === undefined || this.#last.closed) return continueReading();
    this.#watch();
    this.#isHeld = true;
    // An error is handled when the connection closes. Without a listener it would end the process.
    socket.removeListener("error", ignore).on("error", ignore);
    this.#pauseIfFull();
    this.#last.once("close", continueReading);
  }

  get #mustPause(): boolean {
    if (this.#isHeld || this.#waiting >= MAX_WAITING) return true;
    return this.#waiting > 0 && this.#backlog.isFull;
  }

  /** Node resumes a connection for each body that it reads or drops. */
  readonly #pauseIfFull = (): void => {
    if (!this.#mustPause) return;
    this.#isPaused = true;
    const isPaused = this.#socket.isPaused();
    this.#socket.pause();
    // A pause before a pending resume takes effect starts the handle again; HTTP stops it on this event.
    if (isPaused) this.#socket.emit("pause");
  };

  #resume(): void {
    this.#isPaused = false;
    this.#socket.resume();
  }

  #watch(): void {
    // Must run after the listeners of Node, which adds new ones when the connection is returned to HTTP.
    this.#socket.removeListener("resume", this.#pauseIfFull).on("resume", this.#pauseIfFull);
    if (this.#isCharged) return;
    this.#isCharged = true;
    this.#backlog.join(this);
    this.#socket.once("close", () => this.#release());
  }

  #release(): void {
    this.#backlog.give(this.heldBytes);
    this.#waiting = 0;
    this.#untaken = 0;
    this.#backlog.leave(this);
  }
}

function ignore(): void {}
