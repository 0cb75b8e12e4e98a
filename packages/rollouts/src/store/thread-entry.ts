/** A thread of a store. */
import { parentPort, workerData } from "node:worker_threads";
import { ConfigError } from "#core/errors.js";
import { openRole, type Role } from "./roles.js";
import { describeProblem } from "./store-file.js";
import type { StoreAnswer, StoreCall } from "./thread.js";

const { role, folder } = workerData as { role: Role; folder: string };
let target: Record<string, (...args: unknown[]) => unknown>;

parentPort?.on("message", (call: StoreCall) => void perform(call));

async function perform([number, method, args]: StoreCall): Promise<void> {
  let answer: StoreAnswer;
  try {
    if (method === "open") target = (await openRole(role, folder)) as unknown as typeof target;
    answer = [number, method === "open" ? undefined : await target[method]?.(...args)];
  } catch (error) {
    answer = [number, undefined, { message: describeProblem(error), isConfig: error instanceof ConfigError }];
  }
  parentPort?.postMessage(answer, answer[1] instanceof Uint8Array ? [answer[1].buffer as ArrayBuffer] : []);
}
