import { workerData } from "node:worker_threads";
import { type Answer, type Call, packError, type ThreadData } from "./wire.js";

/** The thread's side: does what it is called for, one after the other. */
export function answerCalls(perform: (method: string, args: unknown[]) => Promise<unknown>): void {
  const { port, flag } = workerData as ThreadData;
  const wake = (): void => {
    Atomics.store(flag, 0, 1);
    Atomics.notify(flag, 0);
  };
  port.on("message", async ({ method, args }: Call) => {
    let answer: Answer;
    try {
      answer = { value: await perform(method, args) };
    } catch (error) {
      answer = { error: packError(error) };
    }
    port.postMessage(answer);
    wake();
  });
  wake();
}
