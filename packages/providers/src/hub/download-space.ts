import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { ProviderError } from "openenv-ts";
import { placeInside } from "../repository/place-inside.js";
import type { HubAccess, Space } from "./find-space.js";
import { hubEndpoint } from "./hub-account.js";
import { explainHubError } from "./hub-error.js";

const MAX_FILES = 10_000;
const MAX_BYTES = 4 * 1024 ** 3;
const AT_ONCE = 8;

/**
 * Writes the files of a Space's commit into an empty folder. Large files are downloaded, too; a git clone needs Git LFS
 * for them.
 * @throws ProviderError when a path leaves the folder, the Space is too large, or the Hub fails.
 */
export async function downloadSpace({ id, sha }: Space, dir: string, { token, signal }: HubAccess): Promise<void> {
  const hub = await import("@huggingface/hub");
  const stop = new AbortController();
  const ended = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const access = {
    repo: { type: "space", name: id },
    revision: sha,
    hubUrl: hubEndpoint(),
    fetch: (url, init) => fetch(url, { ...init, signal: ended }),
    ...(token && { accessToken: token }),
  } satisfies Omit<Parameters<typeof hub.downloadFile>[0], "path">;

  async function write(path: string): Promise<void> {
    ended.throwIfAborted();
    const file = placeInside(dir, path);
    const blob = await hub.downloadFile({ ...access, path });
    if (!blob) throw new ProviderError("SOURCE_NOT_FOUND", `${path} of the Space ${id} no longer exists. Try again.`);
    await mkdir(dirname(file), { recursive: true });
    // The library requests the first byte of the file; an empty file has none and the request fails.
    const content = blob.size === 0 ? [] : Readable.fromWeb(blob.stream() as ReadableStream);
    await pipeline(content, createWriteStream(file, { flags: "wx" }), { signal: ended });
  }

  try {
    const paths: string[] = [];
    let bytes = 0;
    for await (const entry of hub.listFiles({ ...access, recursive: true })) {
      placeInside(dir, entry.path);
      bytes += entry.size;
      if (entry.type === "file") paths.push(entry.path);
      if (paths.length <= MAX_FILES && bytes <= MAX_BYTES) continue;
      throw new ProviderError(
        "START_FAILED",
        `The Space ${id} has more than ${MAX_FILES} files or ${MAX_BYTES / 1024 ** 3} GB. Start its image instead.`,
      );
    }
    const next = paths.values();
    const workers = Array.from({ length: AT_ONCE }, async () => {
      for (const path of next) await write(path).catch((error: unknown) => stop.abort(error));
    });
    // Every download must end before the folder can be removed.
    await Promise.all(workers);
    stop.signal.throwIfAborted();
  } catch (error) {
    signal?.throwIfAborted();
    throw explainHubError(error, { what: `the Space ${id}`, token });
  }
}
