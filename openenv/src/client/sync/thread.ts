import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { ConnectionError } from "../../errors.js";
import { type Answer, type ThreadData, unpackError } from "./wire.js";

/** A thread that does the waiting; the calling one blocks. */
export interface Thread {
  /** Blocks until the thread has done it, at most so many milliseconds; throws what it threw. */
  call(method: string, args: readonly unknown[], limitMs: number): unknown;
  readonly ended: boolean;
  /** Ends the thread, whatever it is doing. */
  end(): void;
}

/** How long the thread may take to start, and a call beyond its own time limits, before the thread counts as dead. */
export const GRACE_MS = 10_000;

/** `script` is a module that calls `answerCalls`; it gets `setup`, plain data. */
export function startThread(script: URL, setup: unknown): Thread {
  const { port1: port, port2 } = new MessageChannel();
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(script, {
    workerData: { port: port2, flag, setup } satisfies ThreadData,
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

  const end = (): void => {
    if (ended) return;
    ended = true;
    void worker.terminate();
    port.close();
  };

  wait(GRACE_MS);
  return {
    get ended() {
      return ended;
    },
    call: (method, args, limitMs) => {
      Atomics.store(flag, 0, 0);
      port.postMessage({ method, args });
      wait(limitMs);
      const answer = receiveMessageOnPort(port)?.message as Answer;
      if ("error" in answer) throw unpackError(answer.error);
      return answer.value;
    },
    end,
  };
}
