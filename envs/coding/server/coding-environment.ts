import {
  type Action,
  defineEnvironment,
  type Environment,
  type ObservationInput,
  type StepContext,
  type TextSpan,
  type ViewPart,
} from "openenv-ts";
import { type CodeMetadata, coding, LANGUAGES, type Language, type Outcome } from "../models.js";
import type { Interpreter, Run } from "../sandbox/interpreter.js";
import type { Sandbox } from "../sandbox/sandbox.js";

const ENDED_BETWEEN = "sandbox: the interpreter ended after the previous step; this step ran in a new one\n";

/** The environment whose programs run in this sandbox. */
export function defineCoding(sandbox: Sandbox, timeoutSeconds: number) {
  return defineEnvironment(coding, () => new CodingEnvironment(sandbox, timeoutSeconds), {
    stepBeforeReset: "allow",
    sharesState: "no",
  });
}

/** A session: one interpreter for each language, started when it is first used. */
class CodingEnvironment implements Environment<typeof coding> {
  readonly #sandbox: Sandbox;
  readonly #timeoutSeconds: number;
  readonly #interpreters = new Map<Language, Interpreter>();
  #lastExitCode = 0;
  #closed = false;

  constructor(sandbox: Sandbox, timeoutSeconds: number) {
    this.#sandbox = sandbox;
    this.#timeoutSeconds = timeoutSeconds;
  }

  async reset() {
    await this.#endInterpreters();
    this.#lastExitCode = 0;
    return { observation: { stdout: "", stderr: "", exit_code: 0 }, reward: 0, done: false };
  }

  async step({ code, language }: Action<typeof coding>, context: StepContext) {
    const { interpreter, note } = await this.#take(language);
    const run = await interpreter.run(code, context.signal);
    if (interpreter.over) this.#interpreters.delete(language);
    this.#lastExitCode = run.exitCode;
    const metadata: CodeMetadata = {
      language,
      outcome: run.outcome,
      state_lost: interpreter.over,
      truncated: run.truncated,
    };
    return {
      observation: {
        stdout: run.stdout,
        stderr: withNotes(run.stderr, note + this.#describe(run, interpreter.over)),
        exit_code: run.exitCode,
      },
      reward: run.outcome === "ok" ? 1 : 0,
      done: false,
      metadata,
    };
  }

  state() {
    return { last_exit_code: this.#lastExitCode };
  }

  /** What a terminal would show. */
  render({ stdout = "", stderr = "", exit_code = 0 }: ObservationInput<typeof coding>): ViewPart[] {
    const ended: TextSpan =
      exit_code === 0 ? { text: "" } : { text: `Ended with code ${exit_code}.`, tone: "negative" };
    const runs: TextSpan[] = [{ text: stdout, mono: true }, { text: stderr, tone: "caution", mono: true }, ended];
    return [{ kind: "text", runs: runs.filter(({ text }) => text !== "") }];
  }

  async close() {
    this.#closed = true;
    await this.#endInterpreters();
  }

  async #take(language: Language): Promise<{ interpreter: Interpreter; note: string }> {
    const known = this.#interpreters.get(language);
    if (known && !known.over) return { interpreter: known, note: "" };
    await known?.close();
    const interpreter = await this.#sandbox.start(language);
    this.#interpreters.set(language, interpreter);
    // The session may have been closed while it was starting.
    if (this.#closed) await interpreter.close();
    return { interpreter, note: known ? ENDED_BETWEEN : "" };
  }

  async #endInterpreters(): Promise<void> {
    const ending = LANGUAGES.map((language) => this.#interpreters.get(language)?.close());
    this.#interpreters.clear();
    await Promise.all(ending);
  }

  #describe({ outcome }: Run, stateLost: boolean): string {
    const loss = stateLost
      ? "; its variables and imports are lost, and the next step begins with a new interpreter"
      : "";
    const reasons: Record<Outcome, string> = {
      ok: "",
      error: "",
      timeout: `the program ran longer than ${this.#timeoutSeconds} s and was stopped`,
      died: "the interpreter ended before the program did",
      garbled: "the program wrote into the channel of the interpreter, which was stopped",
    };
    return reasons[outcome] && `sandbox: ${reasons[outcome]}${loss}\n`;
  }
}

function withNotes(stderr: string, notes: string): string {
  const gap = notes && stderr && !stderr.endsWith("\n") ? "\n" : "";
  return stderr + gap + notes;
}
