export interface Output {
  /** Starts a step: its output ends where this mark stands. */
  begin(mark: string): void;
  push(chunk: Buffer): void;
  /** True once the mark was read. */
  readonly marked: boolean;
  /** What the step printed, at most so many characters of it: the beginning and the end. */
  take(): { text: string; truncated: boolean };
}

const EMPTY: Buffer = Buffer.alloc(0);
const BYTES_OF_CHARACTER = 4;

/** Reads one output pipe. It keeps a bounded number of bytes, however many come. */
export function createOutput(maxCharacters: number): Output {
  const capacity = maxCharacters * BYTES_OF_CHARACTER;
  let mark = EMPTY;
  /** The last bytes that came, when they may be the beginning of the mark. */
  let carry = EMPTY;
  let kept = createKept(capacity);
  /** What came before the mark; from then on `kept` is the next step's. */
  let finished: Kept | undefined;

  const finish = (before: Buffer): Kept => {
    const done = kept;
    done.add(before);
    finished = done;
    kept = createKept(capacity);
    [mark, carry] = [EMPTY, EMPTY];
    return done;
  };
  const push = (chunk: Buffer): void => {
    if (mark.length === 0) return kept.add(chunk);
    // Joined with as little as can complete a mark: a flood must not cost the server a copy of it.
    const seam = Buffer.concat([carry, chunk.subarray(0, mark.length)]);
    const data = chunk.length > mark.length && seam.indexOf(mark) < 0 ? chunk : Buffer.concat([carry, chunk]);
    if (data === chunk) kept.add(carry);
    const at = data.indexOf(mark);
    if (at >= 0) {
      const after = data.subarray(at + mark.length);
      finish(data.subarray(0, at));
      return kept.add(after);
    }
    const end = Math.max(0, data.length - mark.length + 1);
    kept.add(data.subarray(0, end));
    carry = Buffer.from(data.subarray(end));
  };
  return {
    begin(text) {
      mark = Buffer.from(text);
      finished = undefined;
    },
    push,
    get marked() {
      return finished !== undefined;
    },
    take() {
      return shorten(finished ?? finish(carry), maxCharacters);
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
      tail.push(rest);
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
