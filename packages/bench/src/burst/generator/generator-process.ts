import { toLoadFailure } from "../../failure.js";
import type { BurstJob, BurstProgress } from "../types.js";
import { createGenerator, type LoadJob } from "./generator.js";

/** The process that `fork.ts` starts: runs one command at a time, and ends with its parent. */

export type GeneratorCommand =
  | { do: "burst"; job: BurstJob }
  | { do: "open"; job: LoadJob }
  | { do: "step"; seconds: number; thinkMs: number | undefined }
  | { do: "close" }
  | { do: "interrupt" };

export type GeneratorReply = { progress: BurstProgress } | { value: unknown } | { failed: string; message: string };

/** Milliseconds between progress messages. */
const PROGRESS_MS = 200;

const generator = createGenerator(Number(process.argv[2] ?? 0));

process.on("message", (command: GeneratorCommand) => {
  if (command.do === "interrupt") {
    generator.interrupt();
    return;
  }
  obey(command).then(
    (value) => reply({ value }),
    (error: unknown) => {
      const { type, message } = toLoadFailure(error);
      reply({ failed: type, message });
    },
  );
});
process.on("disconnect", () => process.exit());
// Ctrl-C reaches the whole group; the parent decides what to do.
process.on("SIGINT", () => {});

function obey(command: Exclude<GeneratorCommand, { do: "interrupt" }>): Promise<unknown> {
  switch (command.do) {
    case "burst":
      return generator.burst(command.job, createProgress());
    case "open":
      return generator.open(command.job);
    case "step":
      return generator.step(command.seconds, command.thinkMs);
    case "close":
      return generator.closeSessions();
  }
}

function createProgress(): (progress: BurstProgress) => void {
  let reportedAt = 0;
  return (progress) => {
    const now = performance.now();
    if (now - reportedAt < PROGRESS_MS) return;
    reportedAt = now;
    reply({ progress });
  };
}

function reply(message: GeneratorReply): void {
  if (process.connected) process.send?.(message);
}
