/** Entry point of an isolate (thread or process): loads the author's module and runs sessions of its environment. */
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { HOST_MARK } from "#core/environment/environment-host.js";
import { pickEnvironment } from "#core/environment/pick-environment.js";
import { packError } from "#core/session/packed-error.js";
import { watchParent } from "#core/session/watchdog.js";
import { EnvironmentRunner } from "./environment-runner.js";
import { type IsolateResources, RESOURCES } from "./isolate-variables.js";
import type { FromIsolate, ToIsolate } from "./messages.js";

export interface IsolateData {
  module: string;
}

/** The time that environments may take to close before the isolate exits. */
const CLOSE_LIMIT_MS = 2_000;

const send = parentPort
  ? (message: FromIsolate) => parentPort?.postMessage(message)
  : // The empty callback ignores the error when the server has ended; `disconnect` reports it.
    (message: FromIsolate) => void process.send?.(message, () => {});
const runner = new EnvironmentRunner(send);
let ending = false;
let resources: AsyncDisposable | undefined;

async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  await Promise.race([closeAll(), sleep(CLOSE_LIMIT_MS)]);
  process.exit(0);
}

async function closeAll(): Promise<void> {
  await runner.closeAll();
  await resources?.[Symbol.asyncDispose]();
}

function receive(message: ToIsolate): void {
  if (message.type === "request") void runner.answer(message);
  else if (message.type === "abort") runner.abort(message.id, message.reason);
  else void end();
}

Object.assign(globalThis, { [HOST_MARK]: true });
process.setSourceMapsEnabled(true);
let module: string;
if (parentPort) {
  parentPort.on("message", receive);
  ({ module } = workerData as IsolateData);
} else {
  process.on("message", receive);
  process.once("disconnect", end);
  // Ctrl-C and service managers signal the whole process group; only the server ends its isolates.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const [, , path = "", parent, memoryMb] = process.argv;
  module = path;
  await watchParent({ parent: Number(parent), memoryMb: Number(memoryMb) });
}
try {
  const definition = pickEnvironment((await import(module)) as Record<string, unknown>, module);
  const { values, spares } = JSON.parse(process.env[RESOURCES] as string) as IsolateResources;
  definition.resources?.give(values);
  resources = await definition.resources?.hold({ spares });
  runner.definition = definition;
  send({ type: "ready", contract: definition.contract.name });
} catch (error) {
  send({ type: "unusable", error: packError(error) });
}
