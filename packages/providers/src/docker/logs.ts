import type { Engine } from "./engine.js";

const LINES = "1000";
const MAX_BYTES = 1024 * 1024;

/** The last lines of a container's output, both streams in order of arrival. */
export function readContainerLogs(engine: Engine, container: string): Promise<string> {
  return readLogs(engine, `/containers/${container}/logs`);
}

/** The last lines of a log that the engine stores. */
export async function readLogs(engine: Engine, path: string): Promise<string> {
  const query = { stdout: "1", stderr: "1", tail: LINES };
  return splitFrames(await engine.read(path, { query, maxBytes: MAX_BYTES }));
}

const HEADER_BYTES = 8;

/**
 * Without a terminal, each chunk has a header: the stream, three zeros, the length. With a terminal, the bytes are raw.
 */
function splitFrames(bytes: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const isHeader = (bytes[at] ?? 9) <= 2 && bytes.readUIntBE(at + 1, 3) === 0;
    if (!isHeader) return bytes.toString();
    const length = bytes.readUInt32BE(at + 4);
    pieces.push(bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length));
    at += HEADER_BYTES + length;
  }
  return Buffer.concat(pieces).toString();
}
