import { randomBytes } from "node:crypto";
import type { Outcome } from "../models.js";
import type { Cgroups } from "./cgroup.js";
import { createChannel, type SandboxAnswer, type SandboxChannel } from "./channel.js";
import type { SandboxLaunch } from "./launch.js";
import { FILE_BYTES } from "./limits.js";
import { createOutput, type Output } from "./output.js";
import { type SandboxProcess, startProcess } from "./process.js";

/** What a program did. */
export interface Run {
  stdout: string;
  stderr: string;
  exitCode: number;
  outcome: Outcome;
  truncated: boolean;
}

const START_MS = 60_000;
/** JavaScript keeps the time limit itself; this is how much later it is killed when it does not. */
const GRACE_MS = 5_000;
const NICE = 5;
const TIMED_OUT = 124;
const GARBLED = 125;

/** A process that runs one program after another and keeps their variables. */
export class Interpreter {
  readonly #child: SandboxProcess;
  readonly #launch: SandboxLaunch;
  readonly #channel: SandboxChannel;
  readonly #stdout: Output;
  readonly #stderr: Output;
  #answer: SandboxAnswer | undefined;
  #exitCode: number | undefined;
  #garbled = false;
  #changed: () => void = () => {};

  /** @throws Error when the process does not start, with what it said. */
  static async start(launch: SandboxLaunch, cgroups: Cgroups | undefined): Promise<Interpreter> {
    const interpreter = new Interpreter(await startProcess(launch, cgroups), launch);
    await interpreter.#begin();
    return interpreter;
  }

  private constructor(child: SandboxProcess, launch: SandboxLaunch) {
    this.#child = child;
    this.#launch = launch;
    this.#stdout = this.#read("stdout");
    this.#stderr = this.#read("stderr");
    this.#channel = createChannel(child, {
      answered: (answer) => {
        this.#garbled ||= this.#answer !== undefined;
        this.#answer = answer;
        this.#changed();
      },
      garbled: () => {
        this.#garbled = true;
        this.#changed();
      },
    });
    void child.ended.then((code) => {
      this.#exitCode = code;
      this.#changed();
    });
  }

  /** True when it can run no more programs: it has ended, or its answers are no longer trusted. */
  get over(): boolean {
    return this.#garbled || this.#exitCode !== undefined;
  }

  /** One at a time. Rejects only when `signal` is aborted, which ends the interpreter. */
  async run(code: string, signal: AbortSignal): Promise<Run> {
    const id = randomBytes(16).toString("hex");
    const { timeoutSeconds } = this.#launch.limits;
    this.#stdout.begin(id);
    this.#stderr.begin(id);
    this.#answer = undefined;
    this.#child.resume();
    this.#channel.send({ id, code });
    const limit = timeoutSeconds * 1000 + (this.#launch.language === "javascript" ? GRACE_MS : 0);
    const answered = (): boolean => this.#answer !== undefined && this.#stdout.marked && this.#stderr.marked;
    await this.#until(() => answered() || this.over, { ms: limit, signal });
    const end = this.#judge(id, answered());
    if (end.outcome === "ok" || end.outcome === "error") this.#child.stop();
    if (signal.aborted || end.final) await this.close();
    signal.throwIfAborted();
    const [stdout, stderr] = [this.#stdout.take(), this.#stderr.take()];
    return {
      stdout: stdout.text,
      stderr: stderr.text,
      exitCode: end.exitCode,
      outcome: end.outcome,
      truncated: stdout.truncated || stderr.truncated,
    };
  }

  /** Resolves when every process of it has ended; idempotent. */
  async close(): Promise<void> {
    this.#child.kill();
    await this.#child.ended;
  }

  async #begin(): Promise<void> {
    const { limits, contained, ownUid } = this.#launch;
    this.#channel.send({
      nice: NICE,
      strict: contained,
      alone: contained,
      memory_bytes: limits.memoryBytes,
      file_bytes: FILE_BYTES,
      // The limit counts every process of the uid, also those of others when they share it.
      processes: contained || ownUid !== "none" ? limits.processes : null,
      timeout_ms: limits.timeoutSeconds * 1000,
    });
    await this.#until(() => this.#answer !== undefined || this.over, { ms: START_MS });
    if (this.#answer && "ready" in this.#answer) return this.#enclose();
    const waited = this.over ? "" : `it was not ready after ${START_MS / 1000} s; `;
    await this.close();
    throw new Error(`${waited}${this.#stderr.take().text.trim() || `it ended with exit code ${this.#exitCode}`}`);
  }

  async #enclose(): Promise<void> {
    try {
      this.#child.enclose();
    } catch (error) {
      await this.close();
      throw new Error("it could not be put into its cgroup", { cause: error });
    }
  }

  #judge(id: string, answered: boolean): { outcome: Outcome; exitCode: number; final: boolean } {
    const answer = answered ? this.#answer : undefined;
    if (answer && !("id" in answer && answer.id === id)) this.#garbled = true;
    if (this.#garbled) return { outcome: "garbled", exitCode: GARBLED, final: true };
    if (answer && "id" in answer) {
      const outcome = answer.timed_out ? "timeout" : answer.exit_code === 0 ? "ok" : "error";
      return { outcome, exitCode: answer.exit_code, final: false };
    }
    if (this.#exitCode !== undefined) return { outcome: "died", exitCode: this.#exitCode, final: true };
    return { outcome: "timeout", exitCode: TIMED_OUT, final: true };
  }

  #read(name: "stdout" | "stderr"): Output {
    const output = createOutput(this.#launch.limits.maxOutputLength);
    this.#child[name].on("error", () => {});
    this.#child[name].on("data", (chunk: Buffer) => {
      output.push(chunk);
      this.#changed();
    });
    return output;
  }

  /** Waits until `done` is true, the time is over or the signal is aborted. */
  #until(done: () => boolean, { ms, signal }: { ms: number; signal?: AbortSignal }): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        this.#changed = () => {};
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal?.addEventListener("abort", finish);
      this.#changed = () => {
        if (done()) finish();
      };
      if (done() || signal?.aborted) finish();
    });
  }
}
