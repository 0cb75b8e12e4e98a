import fc from "fast-check";
import { expect, test } from "vitest";
import { createOutput } from "./output.js";

const MARK = "0123456789abcdef0123456789abcdef";

test("a step's output ends at its mark, in whatever pieces it comes", () => {
  const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), fc.string({ maxLength: 50 }), pieces, (text, after, sizes) => {
      const output = createOutput(1000);
      output.begin(MARK);
      const all = Buffer.from(text + MARK + after);
      for (let from = 0, turn = 0; from < all.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        output.push(all.subarray(from, from + size));
        from += size;
      }
      expect(output.marked).toBe(true);
      expect(output.take()).toEqual({ text: Buffer.from(text).toString(), truncated: false });
      const next = "f".repeat(MARK.length);
      output.begin(next);
      output.push(Buffer.from(`then${next}`));
      expect(output.take().text).toBe(`${Buffer.from(after).toString()}then`);
    }),
  );
});

test("without a mark all that came is given", () => {
  const output = createOutput(100);
  output.begin(MARK);
  output.push(Buffer.from("cut off 0123"));
  expect(output.marked).toBe(false);
  expect(output.take().text).toBe("cut off 0123");
});

test("a long output keeps its beginning and its end, in characters", () => {
  const output = createOutput(10);
  output.begin(MARK);
  output.push(Buffer.from(`${"👋".repeat(11)}!${MARK}`));
  expect(output.take()).toEqual({
    text: `${"👋".repeat(5)}\n[... 2 characters left out ...]\n${"👋".repeat(4)}!`,
    truncated: true,
  });
});

test("an output of exactly the limit is whole", () => {
  const output = createOutput(10);
  output.begin(MARK);
  output.push(Buffer.from(`${"👋".repeat(10)}${MARK}`));
  expect(output.take()).toEqual({ text: "👋".repeat(10), truncated: false });
});

test("what is let go is counted, whatever the size of its pieces", () => {
  for (const size of [1, 7, 64, 5000]) {
    const output = createOutput(10);
    output.begin(MARK);
    for (let sent = 0; sent < 10_000; sent += size) output.push(Buffer.alloc(Math.min(size, 10_000 - sent), "x"));
    output.push(Buffer.from(`the end${MARK}`));
    const { text, truncated } = output.take();
    expect(truncated).toBe(true);
    expect(text).toMatch(/^xxxxx\n\[\.\.\. more than 9\d\d\d bytes left out \.\.\.\]\ne end$/);
  }
});

test("bytes that are not text are shown as bytes", () => {
  const output = createOutput(100);
  output.begin(MARK);
  output.push(Buffer.concat([Buffer.from([0, 255, 65]), Buffer.from(MARK)]));
  expect(output.take().text).toBe("\0\uFFFDA");
});
