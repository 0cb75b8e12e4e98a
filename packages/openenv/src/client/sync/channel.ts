import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { ConnectionError } from "../../errors.js";
import { DEFAULT_CONNECT_TIMEOUT_MS, DEFAULT_TIMEOUT_MS } from "../options.js";
import type { SyncConnectOptions } from "./types.js";
import { type SyncAnswer, unpackError, type WorkerSetup } from "./wire.js";

/** The calling thread's side of a client that lives in another thread. */
export interface SyncChannel {
  /** Blocks until the thread has done it; throws what it threw. */
  call(method: string, ...args: unknown[]): unknown;
  /** Closes the client and ends the thread; nothing happens the second time. */
  end(): void;
}

/** How long the thread may take to start, and a call beyond its own time limits, before the thread counts as dead. */
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
  // A script that forgets to close ends all the same.
  worker.unref();
  let ended = false;

  const wait = (limitMs: number): void => {
    if (Atomics.wait(flag, 0, 0, limitMs) !== "timed-out") return;
    end();
    throw new ConnectionError("SESSION_LOST", "The client's thread does not answer; it was ended.");
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
      if (ended)
        throw new ConnectionError("CLIENT_CLOSED", "The client was closed; open a new one with connectSync().");
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
