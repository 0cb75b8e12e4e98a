import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** Smaller payloads are copied behind their header, bytes. */
const SMALL = 4 * 1024;

/** Looks at what a socket has received before `ws` does. */
export interface FirstReader {
  /** Returns true if it has read the chunk, false if `ws` must. */
  readAlone(chunk: Buffer): boolean;
  /** A chunk that `ws` has read. */
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
  Object.assign(stream, { end: endOnce });
  if (sender !== undefined) sender.sendFrame = writeOnce;
  if (receiver === undefined) return false;
  Object.assign(receiver, { reader, write: readFirst, end: endOnce });
  return true;
}

/** Instead of `write` of a receiver, which it has from its prototype. */
function readFirst(this: Receiver, chunk: Buffer): boolean {
  const { reader } = this;
  if (reader.readAlone(chunk)) return true;
  const hasRoom = (Object.getPrototypeOf(this) as Receiver).write.call(this, chunk);
  reader.track(chunk);
  return hasRoom;
}

/** Instead of `end` of a stream. `ws` ends it up to three times, and once it has finished, each costs an error. */
function endOnce(this: Ending, ...data: []): Ending {
  return this.writableEnded ? this : (Object.getPrototypeOf(this) as Ending).end.apply(this, data);
}

/** Instead of `sendFrame` of a sender, which writes the header and the payload of a close frame as two buffers. */
function writeOnce(this: Sender, frame: Buffer[], done?: (error?: Error) => void): void {
  const isSmall = frame.length > 1 && frame.every(({ length }) => length < SMALL);
  (Object.getPrototypeOf(this) as Sender).sendFrame.call(this, isSmall ? [Buffer.concat(frame)] : frame, done);
}
