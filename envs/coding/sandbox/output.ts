export interface Output {
  /** Starts a step: its output ends where this mark stands. */
  begin(mark: string): void;
  push(chunk: Buffer): void;
  /** True once the mark was read. */
  readonly marked: boolean;
  /** What the step printed, at most so many characters of it: the beginning and the end. */
  take(): { text: string; truncated: boolean };
}

const BYTES_OF_CHARACTER = 4;

/** Reads one output pipe. It keeps a bounded number of bytes, however many come. */
export function createOutput(maxCharacters: number): Output {
  const capacity = maxCharacters * BYTES_OF_CHARACTER;
  let mark: Buffer = Buffer.alloc(0);
  /** The last bytes of a chunk may be the beginning of the mark. */
  let carry: Buffer = Buffer.alloc(0);
  let kept = createKept(capacity);

  const push = (chunk: Buffer): void => {
    const data = carry.length > 0 ? Buffer.concat([carry, chunk]) : chunk;
    const at = mark.length > 0 ? data.indexOf(mark) : -1;
    const end = at >= 0 ? at : Math.max(0, data.length - mark.length + 1);
    kept.add(data.subarray(0, end));
    carry = Buffer.from(data.subarray(at >= 0 ? at + mark.length : end));
    if (at >= 0) mark = Buffer.alloc(0);
  };
  return {
    begin(text) {
      mark = Buffer.from(text);
      kept = createKept(capacity);
      push(Buffer.alloc(0));
    },
    push,
    get marked() {
      return mark.length === 0;
    },
    take() {
      if (mark.length > 0) {
        kept.add(carry);
        carry = Buffer.alloc(0);
        mark = Buffer.alloc(0);
      }
      return shorten(kept, maxCharacters);
    },
  };
}

interface Kept {
  add(data: Buffer): void;
  head(): Buffer;
  tail(): Buffer;
  /** Bytes between head and tail that were let go. */
  readonly dropped: number;
}

function createKept(capacity: number): Kept {
  const head: Buffer[] = [];
  const tail: Buffer[] = [];
  let headSize = 0;
  let tailSize = 0;
  let dropped = 0;
  return {
    add(data) {
      const room = Math.min(capacity - headSize, data.length);
      // Copies: a slice would keep the whole chunk it came from.
      if (room > 0) head.push(Buffer.from(data.subarray(0, room)));
      headSize += room;
      const rest = data.subarray(Math.max(room, data.length - capacity));
      dropped += data.length - room - rest.length;
      if (rest.length === 0) return;
      tail.push(Buffer.from(rest));
      tailSize += rest.length;
      for (let first = tail[0]; first && tailSize - first.length >= capacity; first = tail[0]) {
        tail.shift();
        tailSize -= first.length;
        dropped += first.length;
      }
    },
    head: () => Buffer.concat(head),
    tail: () => Buffer.concat(tail),
    get dropped() {
      return dropped;
    },
  };
}

function shorten(kept: Kept, limit: number): { text: string; truncated: boolean } {
  const half = Math.ceil(limit / 2);
  if (kept.dropped === 0) {
    const text = Buffer.concat([kept.head(), kept.tail()]).toString();
    const characters = text.length <= limit ? [] : [...text];
    if (characters.length <= limit) return { text, truncated: false };
    const [first, last] = [characters.slice(0, half), characters.slice(characters.length - (limit - half))];
    return joined(first, last, `${characters.length - limit} characters`);
  }
  const first = [...kept.head().toString()].slice(0, half);
  const tail = [...kept.tail().toString()];
  const last = tail.slice(tail.length - (limit - half));
  return joined(first, last, `more than ${kept.dropped} bytes`);
}

function joined(first: string[], last: string[], missing: string): { text: string; truncated: boolean } {
  return { text: `${first.join("")}\n[... ${missing} left out ...]\n${last.join("")}`, truncated: true };
}
