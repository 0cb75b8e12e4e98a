import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { ConnectionError } from "../../errors.js";
import { clientClosed } from "../failures.js";
import { DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_TIMEOUT_MS } from "../options.js";
import type { SyncConnectOptions } from "./types.js";
import { type SyncAnswer, unpackError, type WorkerSetup } from "./wire.js";

/** The calling thread's side of a client that runs in another thread. */
export interface SyncChannel {
  /** Blocks until the thread has made the call; rethrows its error. */
  call(method: string, ...args: unknown[]): unknown;
  /** Closes the client and ends the thread. Can be called more than once. */
  end(): void;
}

/** The time that the thread gets to start, and a call on top of its timeout, before the thread counts as dead. */
const GRACE_MS = 10_000;

export function startChannel(url: string, options: SyncConnectOptions, typed: boolean): SyncChannel {
  const { port1: port, port2 } = new MessageChannel();
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const setup: WorkerSetup = { port: port2, flag, url, options: { ...options }, typed };
  const worker = new Worker(new URL("./worker.js", import.meta.url), {
    workerData: setup,
    transferList: [port2],
    // Options of this process, such as --input-type, can keep the thread from starting.
    execArgv: [],
  });
  // A script exits even if it does not close the client.
  worker.unref();
  let ended = false;

  const wait = (limitMs: number): void => {
    if (Atomics.wait(flag, 0, 0, limitMs) !== "timed-out") return;
    end();
    throw new ConnectionError("SESSION_LOST", "The client's thread did not respond and was terminated.");
  };

  const exchange = (method: string, args: unknown[]): unknown => {
    Atomics.store(flag, 0, 0);
    port.postMessage({ method, args });
    wait(waitLimit(options, args.at(-1)));
    const answer = receiveMessageOnPort(port)?.message as SyncAnswer;
    if ("error" in answer) throw unpackError(answer.error);
    return answer.value;
  };

  const end = (): void => {
    if (ended) return;
    ended = true;
    void worker.terminate();
    port.close();
  };

  wait(GRACE_MS);
  return {
    call: (method, ...args) => {
      if (ended) throw clientClosed("connectSync");
      return exchange(method, args);
    },
    end: () => {
      try {
        if (!ended) exchange("close", []);
      } finally {
        end();
      }
    },
  };
}

function waitLimit(options: SyncConnectOptions, last: unknown): number {
  const own = (last as { timeoutMs?: number } | undefined)?.timeoutMs;
  const call = own ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  return call + (options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS) + GRACE_MS;
}
