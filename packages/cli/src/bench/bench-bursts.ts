import {
  type BurstResult,
  describeFailure,
  findMaxBatches,
  renderMaxBatches,
  runSweep,
  type SummaryRow,
  seconds,
} from "@openenv-ts/bench";
import { quoteShell } from "@openenv-ts/deploy";
import { print, printError, printNote, printProgress } from "../terminal/output.js";
import type { BenchFlags, BenchRun } from "./bench-flags.js";

const PROGRESS_MS = 100;

/** Runs the grid, prints one line for each burst and the largest batches, and returns the exit code. */
export async function sweepBursts(run: BenchRun, flags: BenchFlags): Promise<number> {
  let missingHosts = 0;
  let shown = 0;
  const rows = await runSweep(
    {
      ...run,
      requestsGrid: flags.requestsGrid,
      waitGrid: flags.waitGrid,
      reps: flags.reps,
      timeoutMs: flags.timeout * 1000,
      action: flags.action,
    },
    {
      generator: run.generator,
      files: run.files,
      signal: run.signal,
      start: run.start,
      checkSubject: run.checkSubject,
      onProgress(subject, { requests, wait_seconds }, { succeeded, failed }) {
        if (performance.now() - shown < PROGRESS_MS) return;
        shown = performance.now();
        const failures = failed === 0 ? "" : `, ${failed} failed`;
        printProgress(
          `${subject.mode} ${subject.url}  ${succeeded}/${requests} at ${seconds(wait_seconds * 1000)}${failures}`,
        );
      },
      onBurst(row, result) {
        printNote(renderBurst(row, flags));
        if (flags.verbose) printNote(renderDetails(row, result));
        if (flags.expectedHosts === undefined || row.distinct_hosts >= flags.expectedHosts) return;
        missingHosts++;
        printNote(`  only ${row.distinct_hosts} of ${flags.expectedHosts} expected hosts answered`);
      },
    },
  );
  run.files.writeSummary(rows);
  printResult(run, flags, rows);
  if (rows.length > 0 && rows.every(({ succeeded }) => succeeded === 0)) {
    printError(`no request succeeded: ${rows[0]?.errors}`);
    return 1;
  }
  return missingHosts > 0 && flags.requireHosts ? 1 : 0;
}

function printResult({ files, signal }: BenchRun, flags: BenchFlags, rows: readonly SummaryRow[]): void {
  const named = rows.map((row) => ({ ...row, subject: `${row.url} (${row.mode})` }));
  const batches = findMaxBatches(named);
  if (flags.json) {
    print(JSON.stringify({ dir: files.dir, interrupted: signal.aborted, rows, max_batches: batches }, null, 2));
    return;
  }
  if (batches.length > 0) print(renderMaxBatches(batches));
  print(`\nResults: ${files.dir} (openenv bench report ${quoteShell(files.dir)})`);
}

function renderBurst(row: SummaryRow, { reps }: BenchFlags): string {
  const { mode, url, requests, wait_seconds, rep, success_rate, total_p50_ms, total_p99_ms } = row;
  const failures = row.errors === "" ? "" : `  failed: ${row.errors}`;
  const { server_cpu_seconds: used } = row;
  const cpu = used === null ? "" : `, ${seconds(used * 1000)} of server CPU time`;
  const starts = seconds(row.start_spread_ms);
  const limit = row.client_limited
    ? `\n  the client was the bottleneck: it took ${starts} to start all requests and read answers up to ` +
      `${seconds(row.client_lag_p99_ms)} late; raise --processes if it has more cores, or use another machine`
    : "";
  return (
    `${mode} ${url}  ${requests} at ${seconds(wait_seconds * 1000)}, ${rep === "first" ? rep : `${rep}/${reps}`}: ` +
    `${(success_rate * 100).toFixed(1)} %, p50 ${seconds(total_p50_ms)}, p99 ${seconds(total_p99_ms)}, ` +
    `all started in ${starts}, ${Math.round(row.requests_per_second)}/s${cpu}${failures}${limit}`
  );
}

function renderDetails(row: SummaryRow, { rows, client }: BurstResult): string {
  const parts = (["connect", "reset", "step"] as const).map(
    (part) => `${part} p50 ${seconds(row[`${part}_p50_ms`])} p99 ${seconds(row[`${part}_p99_ms`])}`,
  );
  const messages = new Map(rows.flatMap(({ error_type, error }) => (error_type ? [[error_type, String(error)]] : [])));
  return [
    `  ${parts.join(", ")}`,
    `  ${row.distinct_sessions} sessions on ${row.distinct_pids} processes of ${row.distinct_hosts} hosts; ` +
      `${row.effective_concurrency.toFixed(0)} concurrent`,
    `  client: ${client.cpuSeconds.toFixed(2)} s of CPU time, ${client.lagMs} ms late, ` +
      `busy ${Math.round(client.busy * 100)} %`,
    ...[...messages].map(([type, message]) => `  ${describeFailure(type, message)}`),
  ].join("\n");
}
