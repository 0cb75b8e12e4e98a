import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { snapshot } from "./snapshot.js";

class Text extends Uint8Array {
  toJSON(): string {
    return Buffer.from(this).toString();
  }
}

describe("a snapshot", () => {
  test("is equal to the original, whatever JSON it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(snapshot(value)).toEqual(value);
      }),
    );
  });

  test("does not change when the original does", () => {
    const original = { list: [1, 2], nested: [{ a: [3] }], bytes: new Uint8Array([4]) };
    const copy = snapshot(original);
    original.list[0] = 9;
    original.nested[0]?.a.push(9);
    original.bytes[0] = 9;
    expect(copy).toEqual({ list: [1, 2], nested: [{ a: [3] }], bytes: new Uint8Array([4]) });
  });

  test("of bytes is written by JSON as the original", () => {
    const original = { bytes: new Text([65, 66]), buffer: Buffer.from([1]) };
    const copy = snapshot(original);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(original));
    original.buffer[0] = 9;
    expect([...copy.buffer]).toEqual([1]);
  });

  test("keeps objects that are no plain JSON, and a member called __proto__", () => {
    const date = new Date(0);
    expect(snapshot({ date }).date).toBe(date);
    const hostile = JSON.parse('{"__proto__":{"a":1}}') as object;
    expect(Object.keys(snapshot(hostile))).toEqual(["__proto__"]);
  });
});
