import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeFrame, OPCODE } from "../../../bench/src/ws-codec.js";
import { MessageTracker } from "./message-tracker.js";

/** The upper limit of the overhead of a read or a fragment. */
const OVERHEAD = 400;
const MAX_FRAGMENTS = 5;

interface Wire {
  bytes: Buffer;
  /** The offsets at which a message ends, and nothing is kept. */
  ends: number[];
  /** The ranges of control frames. */
  controls: { from: number; to: number }[];
}

const size = fc.oneof(fc.integer({ min: 0, max: 130 }), fc.constantFrom(65_535, 65_536));
const message = fc.record({
  fragments: fc.array(size, { minLength: 1, maxLength: MAX_FRAGMENTS }),
  pings: fc.array(fc.boolean()),
});

function encode(messages: { fragments: number[]; pings: boolean[] }[]): Wire {
  const wire: Wire = { bytes: Buffer.alloc(0), ends: [0], controls: [] };
  const parts: Buffer[] = [];
  let length = 0;
  const add = (frame: Buffer): void => {
    parts.push(frame);
    length += frame.length;
  };
  for (const { fragments, pings } of messages) {
    for (const [i, bytes] of fragments.entries()) {
      if (pings[i] === true) {
        const from = length;
        add(encodeFrame(OPCODE.ping, Buffer.from("ping")));
        wire.controls.push({ from, to: length });
      }
      const opcode = i === 0 ? OPCODE.text : OPCODE.continuation;
      const frame = encodeFrame(opcode, Buffer.alloc(bytes));
      if (i < fragments.length - 1) frame[0] = opcode;
      add(frame);
    }
    wire.ends.push(length);
  }
  return { ...wire, bytes: Buffer.concat(parts) };
}

/** The bytes that a receiver keeps at an offset: all since the last message, except complete control frames. */
function keptAt(at: number, { ends, controls }: Wire): number {
  const start = Math.max(...ends.filter((end) => end <= at));
  const inside = controls.filter(({ from, to }) => from >= start && to <= at);
  return at - start - inside.reduce((sum, { from, to }) => sum + to - from, 0);
}

test("counts the bytes of an unfinished message after each read, however it is split and fragmented", () => {
  const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 500, max: 70_000 })), {
    minLength: 5,
    maxLength: 50,
  });
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), cuts, (messages, steps) => {
      const wire = encode(messages);
      const tracker = new MessageTracker(() => {});
      let isExact = true;
      for (let at = 0, nth = 0; at < wire.bytes.length; nth++) {
        const chunk = wire.bytes.subarray(at, at + (steps[nth % steps.length] as number));
        tracker.read(chunk);
        at += chunk.length;
        const kept = keptAt(at, wire);
        const overhead = tracker.heldBytes - kept;
        isExact &&= kept === 0 ? overhead === 0 : overhead > 0 && overhead <= (nth + 1 + MAX_FRAGMENTS) * OVERHEAD;
      }
      expect(isExact).toBe(true);
      expect(tracker.heldBytes).toBe(0);
    }),
    { numRuns: 100 },
  );
});
