import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ChannelOptions, IsolateChannel } from "../channel.js";
import { isolateVariables } from "../isolate-variables.js";

/**
 * Starts a child process. It ends with this process, even if this process is killed. The limit applies to all its
 * memory.
 */
export function startProcess({ module, memoryMb, resources }: ChannelOptions): IsolateChannel {
  const script = fileURLToPath(new URL("../isolate-entry.js", import.meta.url));
  const child = fork(script, [module, String(process.pid), String(memoryMb ?? 0)], {
    serialization: "advanced",
    env: isolateVariables(resources),
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: memoryMb === undefined ? [] : [`--max-old-space-size=${memoryMb}`],
  });
  let ended = false;
  const end = (reason: string, error?: unknown): void => {
    if (ended) return;
    ended = true;
    channel.onEnd(reason, error);
  };
  const channel: IsolateChannel = {
    name: `process ${child.pid ?? "(not started)"}`,
    send(message) {
      // The empty callback ignores the error of a process that has just ended; `exit` reports the end.
      if (child.connected) child.send(message, () => {});
    },
    onMessage: () => {},
    onEnd: () => {},
    kill: () => void child.kill("SIGKILL"),
    gone: child.pid === undefined ? Promise.resolve() : once(child, "exit").then(() => {}),
  };
  child.on("message", (message) => channel.onMessage(message as never));
  child.once("error", (error) => end("could not be started", error));
  child.once("exit", (code, signal) => end(signal ? `was killed by ${signal}` : `exited with code ${code}`));
  return channel;
}
