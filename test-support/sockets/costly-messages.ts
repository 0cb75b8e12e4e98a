const ITEMS = {
  zeros: { write: () => "0", items: 1 },
  numbers: { write: (i: number) => String(Math.sin(i)), items: 1 },
  strings: { write: (i: number) => `"s${i}"`, items: 4 },
  "non-finite numbers": { write: (i: number) => (i % 2 === 0 ? "NaN" : "-Infinity"), items: 4 },
  "empty lists": { write: () => "[]", items: 2 },
  "empty objects": { write: () => "{}", items: 2 },
  "objects with different keys": { write: (i: number) => `{"k${i}":0}`, items: 14 },
  "keys of one object": { write: (i: number) => `"k${i}":0`, items: 13 },
} as const;

/** Values whose parsing needs far more time and memory than their size suggests. */
export type CostlyShape = keyof typeof ITEMS;
export const COSTLY_SHAPES = Object.keys(ITEMS) as CostlyShape[];

/** Renders the largest value of a shape within the limits, as Python does: JSON with NaN and -Infinity. */
export function renderCostly(shape: CostlyShape, limits: { items: number; bytes: number }): string {
  const { write, items } = ITEMS[shape];
  const parts: string[] = [];
  let bytes = 2;
  for (let i = 0; (i + 1) * items <= limits.items; i++) {
    const part = write(i);
    bytes += part.length + 1;
    if (bytes > limits.bytes) break;
    parts.push(part);
  }
  const inside = parts.join(",");
  return shape === "keys of one object" ? `{${inside}}` : `[${inside}]`;
}

/** MessagePack of a step whose action has a list of `count` one-byte values in `field`. */
export function packCostlyStep(field: string, value: "nil" | "list" | "object", count: number): Buffer {
  const text = (characters: string): Buffer => Buffer.from([0xa0 + characters.length, ...Buffer.from(characters)]);
  const list = Buffer.alloc(5 + count, { nil: 0xc0, list: 0x90, object: 0x80 }[value]);
  list[0] = 0xdd;
  list.writeUInt32BE(count, 1);
  const head = [Buffer.of(0x82), text("type"), text("step"), text("data"), Buffer.of(0x81), text(field)];
  return Buffer.concat([...head, list]);
}
