import { ConfigError, escapeControls } from "openenv-ts/internal";

/**
 * The only place of the package that writes to the terminal. Any text may contain what a server sent, so control
 * characters and those that reverse the direction are written as escapes; a terminal would obey them.
 */

/** Writes a line or a block of lines to standard output. */
export function print(text: string): void {
  leaveQuietlyOnClosedPipe();
  clearProgress();
  process.stdout.write(`${escapeControls(text.trimEnd())}\n`);
}

/** Writes progress that is no result to standard error. */
export function printNote(text: string): void {
  clearProgress();
  process.stderr.write(`${escapeControls(text.trimEnd())}\n`);
}

/** Shows how far something is in one line that the next output replaces; nothing where there is no terminal. */
export function printProgress(text: string): void {
  if (!process.stderr.isTTY) return;
  const line = escapeControls(text).replaceAll(/\s/g, " ");
  process.stderr.write(`${CLEAR_LINE}${line.slice(0, (process.stderr.columns || 80) - 1)}`);
  progressShown = true;
}

/** Writes what is wrong and what to do about it to standard error. */
export function printError(message: string): void {
  printNote(`error: ${message}`);
}

/** Prints why a command failed and returns its exit code: 2 for what the user set wrongly, else 1. */
export function reportError(error: unknown): number {
  printError(error instanceof Error ? error.message : String(error));
  return error instanceof ConfigError ? 2 : 1;
}

/** True when a person can be asked: input and output are a terminal. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** True when what is printed is read on a terminal. */
export function printsToTerminal(): boolean {
  return process.stdout.isTTY === true;
}

/** Ends the process, whatever is still open in it, once standard output has taken everything. */
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

/** A reader such as `head` may close the pipe early, which is no failure. */
function leaveQuietlyOnClosedPipe(): void {
  if (guarded) return;
  guarded = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
}
