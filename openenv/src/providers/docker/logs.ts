import type { Engine } from "./engine.js";

const LINES = "1000";
const MAX_BYTES = 1024 * 1024;

/** The last lines that a container wrote, both streams in the order in which they came. */
export async function readContainerLogs(engine: Engine, container: string): Promise<string> {
  const query = { stdout: "1", stderr: "1", tail: LINES };
  const bytes = await engine.read(`/containers/${container}/logs`, { query, maxBytes: MAX_BYTES });
  return splitFrames(bytes);
}

const HEADER_BYTES = 8;

/** Without a terminal each piece has a header: the stream, three zeros, the length. With one the bytes are as they are. */
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
