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

/** A check does its work and throws a {@link CheckFailure}, or says why it does not apply. */
export interface CheckDefinition {
  id: string;
  description: string;
  run(): Promise<void | { skipped: string }>;
}

/** What was seen where something else was promised. */
export class CheckFailure extends Error {}

/** Runs the checks one after the other; one that fails does not keep the next from being run. */
export async function runChecks(target: string, definitions: readonly CheckDefinition[]): Promise<CheckReport> {
  const checks: Check[] = [];
  for (const { id, description, run } of definitions) {
    try {
      const result = await run();
      checks.push(
        result === undefined
          ? { id, description, status: "passed" }
          : { id, description, status: "skipped", detail: result.skipped },
      );
    } catch (error) {
      const detail = error instanceof CheckFailure ? error.message : `unexpected failure: ${String(error)}`;
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
