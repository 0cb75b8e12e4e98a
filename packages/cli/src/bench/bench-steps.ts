import { measureThroughput, renderSizing, renderThroughput, type ThroughputRow, waitAction } from "@openenv-ts/bench";
import { quoteShell } from "@openenv-ts/deploy";
import { print, printError, printProgress } from "../terminal/output.js";
import type { BenchFlags, BenchRun } from "./bench-flags.js";

/** Runs closed loops of steps, prints their table and returns the exit code. */
export async function loopSteps(run: BenchRun, flags: BenchFlags): Promise<number> {
  const { servers, generator, files, signal, hardware, cores } = run;
  for (const server of servers) await run.checkSubject(server, "ws");
  const rows: ThroughputRow[] = [];
  const interrupted = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
  for (const connections of flags.connectionsGrid) {
    for (const server of servers) {
      printProgress(`${server.url}  ${connections} connections, ${flags.seconds} s`);
      const action = flags.action ?? waitAction(0);
      const job = { server, hardware, cores, connections, seconds: flags.seconds, think: flags.think, action };
      const row = signal.aborted ? undefined : await Promise.race([measureThroughput(generator, job), interrupted]);
      if (row === undefined) break;
      rows.push(row);
      files.writeThroughput(rows);
    }
  }
  if (flags.json) {
    print(JSON.stringify({ dir: files.dir, interrupted: signal.aborted, rows }, null, 2));
  } else if (rows.length > 0) {
    print(renderThroughput(rows.map((row) => ({ ...row, subject: row.url }))));
    if (flags.think !== undefined) for (const row of rows) print(`\n${renderSizing(row)}`);
    print(`\nResults: ${files.dir} (openenv bench report ${quoteShell(files.dir)})`);
  }
  const failed = rows.filter(({ error_type }) => error_type !== null);
  for (const row of failed) printError(`${row.url}, ${row.connections} connections (${row.error_type}): ${row.error}`);
  return failed.length > 0 ? 1 : 0;
}
