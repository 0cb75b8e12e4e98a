import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { ConfigError } from "openenv-ts";
import { type FleetLog, readUrl } from "./options.js";

const POLL_MS = 1_000;

/** Reads one URL from each line; `#` begins a comment. @throws ConfigError that names the file, and the line. */
export async function readUrls(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new ConfigError(`Cannot read the list of upstreams ${file}: ${cause.message}.`, { cause });
  });
  return text.split("\n").flatMap((line, index) => {
    const url = line.replace(/(^|\s)#.*/, "").trim();
    try {
      return url === "" ? [] : [readUrl(url)];
    } catch (cause) {
      throw new ConfigError(`${file}:${index + 1}: ${(cause as Error).message}`, { cause });
    }
  });
}

/**
 * Calls `use` with the URLs whenever the file has changed; a file with an error changes nothing. Returns what stops it.
 * The file is polled, because a watch follows neither the links of a mounted volume nor a file that is replaced.
 */
export function watchUrls(file: string, use: (urls: readonly string[]) => void, log: FleetLog): () => void {
  const read = (): Promise<void> =>
    readUrls(file).then(use, (error: unknown) =>
      log.error({ file, error: String(error) }, "the list of upstreams is ignored"),
    );
  const listener = (): void => void read();
  watchFile(file, { interval: POLL_MS, persistent: false }, listener);
  return () => unwatchFile(file, listener);
}
