import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface PythonServer extends AsyncDisposable {
  readonly url: string;
  /** Resolves once no session is open, or the process has exited. */
  emptied(): Promise<void>;
  /** Sends a signal and waits until the process exits. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** Starts `server.py` or another script of this folder; importing the Python package takes seconds. */
export async function startPythonServer(python: string, capacity: number, script = "server.py"): Promise<PythonServer> {
  const child = spawn(python, [join(import.meta.dirname, script), String(capacity)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const exited = once(child, "exit");
  const printed = once(child.stdout.setEncoding("utf8"), "data") as Promise<[string]>;
  const first = await Promise.race([printed, exited.then(() => undefined)]);
  if (!first) throw new Error(`the Python server exited before it served:\n${errors}`);
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  const url = first[0].trim();
  const emptied = async (): Promise<void> => {
    while (child.exitCode === null && child.signalCode === null) {
      const answer = await fetch(`${url}/active-sessions`).catch(() => undefined);
      if ((await answer?.json()) === 0) return;
      await sleep(20);
    }
  };
  return { url, emptied, stop, [Symbol.asyncDispose]: () => stop("SIGKILL") };
}
