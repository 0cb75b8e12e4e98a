import { makeNumbers, makeText } from "./observations.mjs";

/** Observations by their size as JSON. */
export const SIZES = {
  "text-100": { field: "text", empty: "", measure: "100 B of text", make: () => makeText().slice(0, 100) },
  "text-10k": { field: "text", empty: "", measure: "10 kB of text", make: () => makeText().slice(0, 10_000) },
  "text-1m": { field: "text", empty: "", measure: "1 MB of text", make: makeText },
  "integers-1m": { field: "integers", empty: [], measure: "1 MB, 280,000 integers", make: makeNumbers },
  "floats-1m": { field: "floats", empty: [], measure: "1 MB, 50,000 floats", make: makeFloats },
  "bytes-1m": { field: "bytes", empty: new Uint8Array(), measure: "1 MB, a field of bytes", make: makeBytes },
};

function makeFloats() {
  return Array.from({ length: 50_000 }, (_, index) => Math.sin(index));
}

function makeBytes() {
  return Uint8Array.from({ length: 750_000 }, (_, index) => (index * 7919) % 256);
}
