import { OpenEnvError } from "../errors.js";

/** One thing that was looked at. `detail` says what was seen when it failed, why it was skipped, or what it leaves open. */
export interface Check {
  id: string;
  description: string;
  status: "passed" | "failed" | "skipped";
  detail?: string;
  /** How to mend what failed. */
  remedy?: string;
  /** What was promised, and what was seen instead, where both are plain values. */
  expected?: unknown;
  actual?: unknown;
  /** How long it took; 0 when it was not made. */
  durationMs: number;
  /** A skipped check that has nothing to look at: what it looks at is not declared. */
  notApplicable?: true;
}

export interface CheckReport {
  target: string;
  passed: boolean;
  checks: Check[];
}

/** A check does its work, or throws a {@link CheckFailure}, {@link CheckSkip} or {@link NotApplicable}. */
export interface CheckDefinition {
  id: string;
  description: string;
  remedy?: string;
  /** The check without which this one says nothing: it is skipped unless that one passed. */
  needs?: string;
  /** `note` takes down what is told also when the check passes. */
  run(note: Note): Promise<void>;
}

export type Note = (facts: Facts & Pick<Check, "detail">) => void;

/** Plain values that say more than a sentence, and how to mend it where the check's own remedy does not fit. */
interface Facts {
  expected?: unknown;
  actual?: unknown;
  remedy?: string;
}

/** What was seen where something else was promised. */
class CheckFailure extends Error {
  readonly facts: Facts;

  constructor(message: string, facts: Facts) {
    super(message);
    this.facts = facts;
  }
}

/** Why a check could not tell. */
export class CheckSkip extends Error {}

/** What is not declared, so that a check has nothing to look at. */
export class NotApplicable extends CheckSkip {}

/** Runs the checks one after the other, but for `leaveOut`; one that fails stops only those that need it. */
export async function runChecks(
  target: string,
  definitions: readonly CheckDefinition[],
  leaveOut: readonly string[] = [],
): Promise<CheckReport> {
  const checks: Check[] = [];
  for (const definition of definitions) {
    const { id, description, needs } = definition;
    const unmet = needs !== undefined && checks.find((check) => check.id === needs)?.status !== "passed";
    const reason = leaveOut.includes(id) ? "it was left out" : unmet ? `${needs} did not pass` : undefined;
    if (reason === undefined) checks.push(await runCheck(definition));
    else checks.push({ id, description, status: "skipped", detail: reason, durationMs: 0 });
  }
  return { target, passed: checks.every(({ status }) => status !== "failed"), checks };
}

async function runCheck({ id, description, remedy, run }: CheckDefinition): Promise<Check> {
  const start = performance.now();
  const noted: Parameters<Note>[0] = {};
  const end = (
    outcome: Pick<Check, "status" | "detail" | "remedy" | "expected" | "actual" | "notApplicable">,
  ): Check => {
    return { id, description, ...outcome, durationMs: performance.now() - start };
  };
  try {
    await run((facts) => Object.assign(noted, facts));
    return end({ status: "passed", ...noted });
  } catch (error) {
    if (error instanceof CheckSkip) {
      const more = error instanceof NotApplicable && { notApplicable: true as const };
      return end({ status: "skipped", detail: error.message, ...more });
    }
    const isPlain = error instanceof CheckFailure || error instanceof OpenEnvError;
    const detail = isPlain ? error.message : `unexpected failure: ${String(error)}`;
    const facts = error instanceof CheckFailure ? { ...noted, ...error.facts } : noted;
    return end({ status: "failed", detail, ...(remedy !== undefined && { remedy }), ...facts });
  }
}

/** The report as lines of text: one a check, and below one that failed how to mend it. */
export function renderCheckReport({ target, checks }: CheckReport): string {
  const lines = checks.flatMap(({ id, status, detail, remedy }) => [
    `  ${status.padEnd(7)} ${id}${detail ? `: ${detail}` : ""}`,
    ...(remedy ? [`          ${remedy}`] : []),
  ]);
  return [target, ...lines].join("\n");
}

export function demand(condition: boolean, message: string, facts: Facts = {}): asserts condition {
  if (!condition) throw new CheckFailure(message, facts);
}

/** A value, short enough for a sentence. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
