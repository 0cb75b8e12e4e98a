import { toLoadFailure } from "../../failure.js";
import type { BurstJob, BurstProgress } from "../types.js";
import { createGenerator, type LoadJob } from "./generator.js";

/** The process that `fork.ts` starts: does what it is told, one thing at a time, and ends with its parent. */

export type GeneratorCommand =
  | { do: "burst"; job: BurstJob }
  | { do: "open"; job: LoadJob }
  | { do: "step"; seconds: number }
  | { do: "close" }
  | { do: "interrupt" };

export type GeneratorReply = { progress: BurstProgress } | { value: unknown } | { failed: string; message: string };

/** Milliseconds between two messages about progress. */
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
// A terminal interrupts the whole group: what to do then is for the parent to say.
process.on("SIGINT", () => {});

function obey(command: Exclude<GeneratorCommand, { do: "interrupt" }>): Promise<unknown> {
  switch (command.do) {
    case "burst":
      return generator.burst(command.job, createProgress());
    case "open":
      return generator.open(command.job);
    case "step":
      return generator.step(command.seconds);
    case "close":
      return generator.closeSessions();
  }
}

function createProgress(): (progress: BurstProgress) => void {
  let told = 0;
  return (progress) => {
    const now = performance.now();
    if (now - told < PROGRESS_MS) return;
    told = now;
    reply({ progress });
  };
}

function reply(message: GeneratorReply): void {
  if (process.connected) process.send?.(message);
}
