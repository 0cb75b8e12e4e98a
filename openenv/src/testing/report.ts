import { OpenEnvError } from "../errors.js";

/** One thing that was looked at. `detail` says what was seen when it failed, and how to mend it. */
export interface Check {
  id: string;
  description: string;
  status: "passed" | "failed" | "skipped";
  detail?: string;
}

export interface CheckReport {
  target: string;
  passed: boolean;
  checks: Check[];
}

/** A check does its work, throws a {@link CheckFailure}, or {@link CheckSkip} when it does not apply. */
export interface CheckDefinition {
  id: string;
  description: string;
  run(): Promise<void>;
}

/** What was seen where something else was promised. */
class CheckFailure extends Error {}

/** Why a check does not apply. */
export class CheckSkip extends Error {}

/** Runs the checks one after the other; one that fails does not keep the next from being run. */
export async function runChecks(target: string, definitions: readonly CheckDefinition[]): Promise<CheckReport> {
  const checks: Check[] = [];
  for (const { id, description, run } of definitions) {
    try {
      await run();
      checks.push({ id, description, status: "passed" });
    } catch (error) {
      if (error instanceof CheckSkip) {
        checks.push({ id, description, status: "skipped", detail: error.message });
        continue;
      }
      const isPlain = error instanceof CheckFailure || error instanceof OpenEnvError;
      const detail = isPlain ? error.message : `unexpected failure: ${String(error)}`;
      checks.push({ id, description, status: "failed", detail });
    }
  }
  return { target, passed: checks.every(({ status }) => status !== "failed"), checks };
}

/** The report as lines of text, one a check. */
export function renderCheckReport({ target, checks }: CheckReport): string {
  const lines = checks.map(({ id, status, detail }) => `  ${status.padEnd(7)} ${id}${detail ? `: ${detail}` : ""}`);
  return [target, ...lines].join("\n");
}

export function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new CheckFailure(message);
}
