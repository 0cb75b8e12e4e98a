import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { LoadFailure } from "../../failure.js";
import type { BurstProgress, BurstResult } from "../types.js";
import type { LoadGenerator } from "./generator.js";
import type { GeneratorCommand, GeneratorReply } from "./generator-process.js";

const STOP_TIMEOUT_MS = 5_000;

/** A generator in a separate process, which ends with this one. */
export function forkGenerator(number: number): LoadGenerator {
  const script = fileURLToPath(new URL("./generator-process.js", import.meta.url));
  const child = fork(script, [String(number)], { serialization: "advanced", execArgv: [] });
  const ask = createAsk(child);
  return {
    burst: (job, onProgress) => ask({ do: "burst", job }, onProgress) as Promise<BurstResult>,
    open: (job) => ask({ do: "open", job }) as Promise<void>,
    step: (seconds, thinkMs) => ask({ do: "step", seconds, thinkMs }) as ReturnType<LoadGenerator["step"]>,
    closeSessions: () => ask({ do: "close" }) as Promise<void>,
    interrupt: () => void (child.connected && child.send({ do: "interrupt" } satisfies GeneratorCommand)),
    close: () => stop(child),
  };
}

function createAsk(child: ChildProcess) {
  let settle: ((reply: GeneratorReply) => void) | undefined;
  const lost = (): void => settle?.({ failed: "GENERATOR_LOST", message: "a generator process exited" });
  child.on("message", (reply: GeneratorReply) => settle?.(reply));
  child.on("error", lost).on("exit", lost);
  return (command: GeneratorCommand, onProgress?: (progress: BurstProgress) => void): Promise<unknown> =>
    new Promise((resolve, reject) => {
      settle = (reply) => {
        if ("progress" in reply) return onProgress?.(reply.progress);
        settle = undefined;
        if ("failed" in reply) reject(new LoadFailure(reply.failed, reply.message));
        else resolve(reply.value);
      };
      if (child.connected) child.send(command);
      else lost();
    });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}
