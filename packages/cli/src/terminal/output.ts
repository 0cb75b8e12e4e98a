import { ConfigError, escapeControls } from "openenv-ts/internal";

/**
 * The only file of the package that writes to the terminal. Any text may contain data from a server, so control and
 * bidirectional characters are escaped; a terminal would interpret them.
 */

/** Writes a line or a block of lines to standard output. */
export function print(text: string): void {
  leaveQuietlyOnClosedPipe();
  clearProgress();
  process.stdout.write(`${escapeControls(text.trimEnd())}\n`);
}

/** Writes a line that is not part of the result to standard error. */
export function printNote(text: string): void {
  clearProgress();
  process.stderr.write(`${escapeControls(text.trimEnd())}\n`);
}

/** Shows progress in one line that the next output replaces. Does nothing without a terminal. */
export function printProgress(text: string): void {
  if (!process.stderr.isTTY) return;
  const line = escapeControls(text).replaceAll(/\s/g, " ");
  process.stderr.write(`${CLEAR_LINE}${line.slice(0, (process.stderr.columns || 80) - 1)}`);
  progressShown = true;
}

/** Writes an error message to standard error. */
export function printError(message: string): void {
  printNote(`error: ${message}`);
}

/** Prints why a command failed and returns its exit code: 2 for wrong configuration, else 1. */
export function reportError(error: unknown): number {
  printError(error instanceof Error ? error.message : String(error));
  return error instanceof ConfigError ? 2 : 1;
}

/** True when the command can prompt: input and output are a terminal. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** True when standard output is a terminal. */
export function printsToTerminal(): boolean {
  return process.stdout.isTTY === true;
}

/** Ends the process once standard output is flushed, even when handles are still open. */
export function exit(code: number): void {
  process.stdout.write("", () => process.exit(code));
}

const CLEAR_LINE = "\r\u001b[2K";
let progressShown = false;

function clearProgress(): void {
  if (progressShown) process.stderr.write(CLEAR_LINE);
  progressShown = false;
}

let guarded = false;

/** A reader such as `head` may close the pipe early. That is not an error. */
function leaveQuietlyOnClosedPipe(): void {
  if (guarded) return;
  guarded = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
}
