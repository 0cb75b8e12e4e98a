import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ProviderDescriptor, StartSpec } from "../provider.js";

/** A process that has started something and then only waits. */
export interface Caller {
  pid: number;
  /** Of what it started. */
  url: string;
  child: ChildProcess;
}

/** What the process is told, and what it tells once that has started. */
export interface CallerTask {
  descriptor: ProviderDescriptor;
  spec: StartSpec;
}
export type CallerAnswer = { url: string } | { error: string };

/** @throws Error with its reason when it cannot start that. */
export async function startCaller(descriptor: ProviderDescriptor, spec: StartSpec): Promise<Caller> {
  const script = fileURLToPath(new URL("./provider-caller-process.js", import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  child.send({ descriptor, spec } satisfies CallerTask);
  const ended = once(child, "exit").then(([code]) => [{ error: `the caller ended with ${code}` }]);
  const [answer] = (await Promise.race([once(child, "message"), ended])) as [CallerAnswer];
  if ("error" in answer || child.pid === undefined) {
    child.kill("SIGKILL");
    throw new Error("error" in answer ? answer.error : "the caller has no number");
  }
  return { pid: child.pid, url: answer.url, child };
}

/** Resolves when the process is gone. */
export async function endCaller({ child }: Caller, signal: NodeJS.Signals): Promise<void> {
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
