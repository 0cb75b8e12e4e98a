import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { ConfigError } from "openenv-ts/internal";

/** A file that rows are written to one after the other. It gets its name when it is complete. */
export interface RowFile {
  /** `bytes` is about its size, so that few rows wait in memory. @throws ConfigError when it cannot be written. */
  write(row: Record<string, unknown>, bytes: number): void;
  finish(): void;
  /** Removes what was written. Does nothing after `finish`. */
  discard(): void;
}

/** A format: writes to a file that exists. */
export type RowWriter = (path: string) => Pick<RowFile, "write" | "finish">;

/** @throws ConfigError when the file cannot be written. */
export function openRowFile(path: string, open: RowWriter): RowFile {
  const part = `${path}.${process.pid}.part`;
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw new ConfigError(`Cannot write ${path}: ${(cause as Error).message}`, { cause });
    }
  };
  const writer = attempt(() => open(part));
  return {
    write: (row, bytes) => attempt(() => writer.write(row, bytes)),
    finish: () =>
      attempt(() => {
        writer.finish();
        renameSync(part, path);
      }),
    discard: () => rmSync(part, { force: true }),
  };
}

/** JSON Lines. */
export const jsonLines: RowWriter = (path) => {
  const file = openSync(path, "w");
  return {
    write: (row) => {
      const bytes = Buffer.from(`${JSON.stringify(row)}\n`);
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    },
    finish: () => closeSync(file),
  };
};
