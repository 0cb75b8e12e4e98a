import { unpack } from "msgpackr";
import { SIZES } from "../controls/sizes.mjs";
import { measureFrames } from "./frame-load.mjs";

const CONNECTIONS = 4;

/** A step as text, and how its answer is read. */
export const TEXT = { frame: '{"type":"step","data":{}}', read: (answer) => JSON.parse(answer) };
/** The same frame as MessagePack. */
export const PACKED = { frame: Buffer.from("82a474797065a473746570a46461746180", "hex"), read: unpack };

/** Steps per CPU-second of a server with the observations `kind` of `controls/sizes.mjs`. */
export function measureSized(bench, { kind, format: { frame, read }, ...options }) {
  const expected = asJson(SIZES[kind].make());
  return measureFrames(bench, {
    ...options,
    connections: CONNECTIONS,
    warmUp: 0.7,
    hello: ['{"type":"reset"}'],
    frame,
    check(answer) {
      const { value } = read(answer).data.observation;
      return asJson(value) === expected ? undefined : `another observation than ${kind}`;
    },
  });
}

/** Bytes are base64 in JSON. */
function asJson(value) {
  return JSON.stringify(value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value);
}
