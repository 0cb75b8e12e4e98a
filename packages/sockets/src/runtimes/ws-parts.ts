import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** Smaller payloads are copied behind their header, bytes. */
const SMALL = 4 * 1024;

/** Looks at what a socket has received before `ws` does. */
export interface FirstReader {
  /** Returns how many bytes of a chunk it has read. */
  readShort(chunk: Buffer): number;
  /** What `ws` has read. */
  track(chunk: Buffer): void;
}

/** The parts of a `ws` socket that are slow for many short sessions. There are no public properties for them. */
interface Parts {
  _receiver?: Receiver;
  _sender?: Sender;
}

/** What `ws` writes the data of a socket to. */
interface Receiver extends Ending {
  write: typeof readFirst;
  reader: FirstReader;
}

interface Sender {
  sendFrame: typeof writeOnce;
}

interface Ending {
  readonly writableEnded: boolean;
  end(): Ending;
}

/** Replaces what costs time. Returns false if this version of `ws` has no receiver: then `reader` reads nothing. */
export function replaceParts(reader: WebSocket & FirstReader, stream: Duplex): boolean {
  const { _receiver: receiver, _sender: sender } = reader as Parts;
  stream.end = endOnce;
  if (sender !== undefined) sender.sendFrame = writeOnce;
  if (receiver === undefined) return false;
  receiver.reader = reader;
  receiver.write = readFirst;
  receiver.end = endOnce;
  return true;
}

/** Replaces `write` of a receiver, which it has from its prototype. */
function readFirst(this: Receiver, chunk: Buffer): boolean {
  const { reader } = this;
  const read = reader.readShort(chunk);
  if (read === chunk.length) return true;
  const rest = read === 0 ? chunk : chunk.subarray(read);
  const hasRoom = (Object.getPrototypeOf(this) as Receiver).write.call(this, rest);
  reader.track(rest);
  return hasRoom;
}

/** Replaces `end` of a stream. `ws` ends it up to three times, and once it has finished, each costs an error. */
function endOnce<E extends Ending>(this: E, ...data: []): E {
  return this.writableEnded ? this : ((Object.getPrototypeOf(this) as Ending).end.apply(this, data) as E);
}

/** Replaces `sendFrame` of a sender, which writes the header and the payload of a close frame as two buffers. */
function writeOnce(this: Sender, frame: Buffer[], done?: (error?: Error) => void): void {
  const isSmall = frame.length > 1 && frame.every(({ length }) => length < SMALL);
  (Object.getPrototypeOf(this) as Sender).sendFrame.call(this, isSmall ? [Buffer.concat(frame)] : frame, done);
}
