import { LoadFailure, toLoadFailure } from "../../failure.js";
import { connectSocket, readTarget } from "../../raw-session.js";
import type { Ending, Played, PlayJob, RequestRow } from "../types.js";
import { createHttpPlay } from "./play-http.js";
import { createWsPlay } from "./play-ws.js";

/** A request on its way. */
export interface Playing {
  /** Its row, when the answer to the step is there or it has failed; never rejects. */
  readonly row: Promise<RequestRow>;
  /** Resolves once its connection is gone. */
  readonly closed: Promise<void>;
  /** Ends it as a failure of this type; no effect on one that is over. */
  abort(type: string): void;
}

/**
 * Returns what starts one request: a connection from that source address, reset, one step, close. `epoch` is when the
 * burst started: a request that the client starts late is as late for who waits for it.
 * @throws ConnectionError when the URL is none of a server.
 */
export function createPlay(play: PlayJob): (epoch: number, localAddress?: string) => Playing {
  const target = readTarget(play.url, play.address, play.token);
  const run = play.mode === "ws" ? createWsPlay(target, play) : createHttpPlay(target, play);
  return (epoch, localAddress) => {
    const watch = new StopWatch(epoch);
    const socket = connectSocket(target, localAddress);
    // Whoever waits for the socket hears of its failure; nobody may be waiting.
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

class StopWatch implements Played {
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
    this.#first = asObject(observation);
  }

  stepped({ observation }: Record<string, unknown>): void {
    this.#stepped = performance.now();
    this.#observation = asObject(observation);
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

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function between(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : round(to - from);
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
