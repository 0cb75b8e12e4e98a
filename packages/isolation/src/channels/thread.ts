import { Worker } from "node:worker_threads";
import type { ChannelOptions, IsolateChannel } from "../channel.js";
import type { IsolateData } from "../isolate-entry.js";
import { isolateVariables } from "../isolate-variables.js";

/** Starts a worker thread. The limit applies to the JavaScript heap, not to buffers and native memory. */
export function startThread({ module, memoryMb, resources }: ChannelOptions): IsolateChannel {
  const worker = new Worker(new URL("../isolate-entry.js", import.meta.url), {
    env: isolateVariables(resources),
    workerData: { module } satisfies IsolateData,
    // Options of this process, such as --input-type, can prevent a thread from starting.
    execArgv: [],
    ...(memoryMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: memoryMb } }),
  });
  const { threadId } = worker;
  let failure: unknown;
  const channel: IsolateChannel = {
    name: `thread ${threadId}`,
    send: (message) => worker.postMessage(message),
    onMessage: () => {},
    onEnd: () => {},
    kill: () => void worker.terminate(),
    gone: new Promise((resolve) => worker.once("exit", () => resolve())),
  };
  worker.on("message", (message) => channel.onMessage(message));
  worker.on("error", (error) => (failure = error));
  worker.once("exit", (code) => channel.onEnd(describeEnd(code, failure), failure));
  return channel;
}

function describeEnd(code: number, failure: unknown): string {
  if ((failure as { code?: string } | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY") return "ran out of heap memory";
  return failure === undefined ? `exited with code ${code}` : "ended by an uncaught exception";
}
