import { OpenEnvError } from "../errors.js";

/** The result of one check. `detail` is what was wrong, why it was skipped, or what it does not cover. */
export interface Check {
  id: string;
  description: string;
  status: "passed" | "failed" | "skipped";
  detail?: string;
  /** What to do about the failure. */
  remedy?: string;
  /** The expected and the actual value, if both are plain values. */
  expected?: unknown;
  actual?: unknown;
  /** Duration in milliseconds; 0 if the check did not run. */
  durationMs: number;
  /** Set when a check was skipped because its subject is not declared. */
  notApplicable?: true;
  /** Set when a check failed because it could not run. */
  broken?: true;
}

export interface CheckReport {
  target: string;
  passed: boolean;
  checks: Check[];
}

/** A check: `run` throws {@link CheckFailure}, {@link CheckSkip} or {@link NotApplicable} unless it passes. */
export interface CheckDefinition {
  id: string;
  description: string;
  remedy?: string;
  /** The id of a check that this one depends on: it is skipped unless that check passed. */
  needs?: string;
  /** `note` adds facts to the report, also when the check passes. */
  run(note: Note): Promise<void>;
}

export type Note = (facts: Facts & Pick<Check, "detail">) => void;

/** Values for the report, and a remedy that replaces the check's own. */
interface Facts {
  expected?: unknown;
  actual?: unknown;
  remedy?: string;
}

/** The result of a check differs from what is expected. */
class CheckFailure extends Error {
  readonly facts: Facts;

  constructor(message: string, facts: Facts) {
    super(message);
    this.facts = facts;
  }
}

/** A check could not decide; the message is the reason. */
export class CheckSkip extends Error {}

/** A check does not apply, because its subject is not declared. */
export class NotApplicable extends CheckSkip {}

/** A check could not run, through no fault of its subject; the message is the reason. */
export class CheckBroken extends Error {}

/** Runs the checks one after the other, except `leaveOut`; a failure skips only the checks that need it. */
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
    outcome: Pick<Check, "status" | "detail" | "remedy" | "expected" | "actual" | "notApplicable" | "broken">,
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
    if (error instanceof CheckBroken) return end({ status: "failed", detail: error.message, broken: true });
    const isPlain = error instanceof CheckFailure || error instanceof OpenEnvError;
    const detail = isPlain ? error.message : `unexpected failure: ${String(error)}`;
    const facts = error instanceof CheckFailure ? { ...noted, ...error.facts } : noted;
    return end({ status: "failed", detail, ...(remedy !== undefined && { remedy }), ...facts });
  }
}

/** Renders the report as text: a line for each check, and below a failed check its remedy. */
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

/** Renders a value, short enough for a sentence. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
