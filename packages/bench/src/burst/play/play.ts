import { isObject } from "openenv-ts/internal";
import { LoadFailure, toLoadFailure } from "../../failure.js";
import { connectSocket, readTarget } from "../../raw-session.js";
import type { Ending, PlayClock, PlayJob, RequestRow } from "../types.js";
import { createHttpPlay } from "./play-http.js";
import { createWsPlay } from "./play-ws.js";

/** A running request. */
export interface Playing {
  /** Resolves with its row after the response to the step or a failure; never rejects. */
  readonly row: Promise<RequestRow>;
  /** Resolves once its connection is closed. */
  readonly closed: Promise<void>;
  /** Ends it as a failure of this type; does nothing after its end. */
  abort(type: string): void;
}

/**
 * Returns a function that starts one request from a source address: connect, reset, one step, close. `epoch` is the
 * start of the burst: a delay of the client counts, because a trainer would wait for it, too.
 * @throws ConnectionError for an invalid URL.
 */
export function createPlay(play: PlayJob): (epoch: number, localAddress?: string) => Playing {
  const target = readTarget(play.url, play.address, play.token);
  const run = play.mode === "ws" ? createWsPlay(target, play) : createHttpPlay(target, play);
  return (epoch, localAddress) => {
    const watch = new StopWatch(epoch);
    const socket = connectSocket(target, localAddress);
    // Failures are reported to the code that waits for the socket; there may be none.
    socket.on("error", () => {});
    const abort = (type: string): void => {
      socket.destroy(new LoadFailure(type, `${type.toLowerCase()} after ${Math.round(watch.elapsed())} ms`));
    };
    const impatient = setTimeout(abort, play.timeoutMs, "TIMEOUT");
    const played = run(socket, watch).then(
      (end) => ({ row: watch.finish(null), end }),
      (error: unknown) => {
        const row = watch.finish(toLoadFailure(error));
        socket.destroy();
        return { row, end: nothing };
      },
    );
    void played.then(() => clearTimeout(impatient));
    return {
      row: played.then(({ row }) => row),
      closed: played.then(({ end }) => end()).catch(nothing),
      abort,
    };
  };
}

const nothing: Ending = async () => {};

class StopWatch implements PlayClock {
  readonly #started = performance.now();
  readonly #epoch: number;
  #connected: number | undefined;
  #reset: number | undefined;
  #stepped: number | undefined;
  #first: Record<string, unknown> = {};
  #observation: Record<string, unknown> = {};

  constructor(epoch: number) {
    this.#epoch = epoch;
  }

  elapsed(): number {
    return performance.now() - this.#started;
  }

  connected(): void {
    this.#connected = performance.now();
  }

  wasReset({ observation }: Record<string, unknown>): void {
    this.#reset = performance.now();
    if (isObject(observation)) this.#first = observation;
  }

  stepped({ observation }: Record<string, unknown>): void {
    this.#stepped = performance.now();
    if (isObject(observation)) this.#observation = observation;
  }

  finish(failure: LoadFailure | null): RequestRow {
    const { pid, session_hash, host_url } = this.#observation;
    return {
      start_ms: round(this.#started - this.#epoch),
      connect_ms: between(this.#started, this.#connected),
      reset_ms: between(this.#connected, this.#reset),
      step_ms: between(this.#reset, this.#stepped),
      total_ms: round((this.#stepped ?? performance.now()) - this.#epoch),
      pid: typeof pid === "number" ? pid : null,
      session_hash: typeof session_hash === "string" ? session_hash : null,
      host_url: typeof host_url === "string" ? host_url : null,
      same_session: typeof session_hash === "string" ? session_hash === this.#first["session_hash"] : null,
      success: failure === null,
      error_type: failure?.type ?? null,
      error: failure?.message.slice(0, 300) ?? null,
    };
  }
}

function between(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : round(to - from);
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
