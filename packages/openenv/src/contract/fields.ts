import * as z from "zod";
import { decodeBase64, encodeBase64, isBase64 } from "../util/text/base64.js";

/** Binary data that JSON.stringify writes as base64. */
export class Bytes extends Uint8Array {
  /** Slices and copies are plain Uint8Arrays. */
  static get [Symbol.species](): Uint8ArrayConstructor {
    return Uint8Array;
  }

  toJSON(): string {
    return encodeBase64(this);
  }
}

/** A field of binary data: accepts a Uint8Array or a base64 string, returns {@link Bytes}; base64 on the wire. */
export function bytes() {
  return field<string | Uint8Array, Bytes>((value, fail) => {
    if (value instanceof Uint8Array) return new Bytes(value);
    if (typeof value !== "string") return fail("bytes_type", "Must be a base64 string or a Uint8Array");
    const decoded = decodeBase64(value);
    if (decoded === undefined) return fail("base64_decode", "Must be standard base64 with padding");
    return new Bytes(decoded.buffer);
  }).meta({ type: "string", format: "binary" });
}

/**
 * An image field: accepts a data URL or the bytes of a PNG, JPEG, GIF or WebP file; returns and sends a data URL.
 */
export function image() {
  return field<string | Uint8Array, string>((value, fail) => {
    if (value instanceof Uint8Array) {
      const type = imageType(value);
      if (type === undefined) return fail("value_error", "Must be the bytes of a PNG, JPEG, GIF or WebP file");
      return `data:${type};base64,${encodeBase64(value)}`;
    }
    if (typeof value !== "string") return fail("string_type", "Must be a data URL or a Uint8Array");
    const head = DATA_URL.exec(value.slice(0, MAX_HEAD))?.[0];
    if (head === undefined || !isBase64(value.slice(head.length))) {
      return fail("value_error", "Must be a base64 data URL of an image");
    }
    return value;
  }).meta({ type: "string", contentEncoding: "base64", contentMediaType: "image/*" });
}

/**
 * A field of date and time: accepts a Date or an ISO 8601 string with an offset or Z, returns a Date; ISO 8601 on the
 * wire.
 */
export function datetime() {
  return field<string | Date, Date>((value, fail) => {
    if (value instanceof Date) {
      return Number.isNaN(value.getTime()) ? fail("datetime_parsing", "Must be a valid Date") : value;
    }
    if (typeof value !== "string") return fail("datetime_type", "Must be an ISO 8601 string or a Date");
    const text = value.replace(" ", "T");
    if (!ISO.test(text)) {
      return fail("datetime_from_date_parsing", "Must be ISO 8601 with an offset or Z: 2026-01-02T03:04:05Z");
    }
    return new Date(text);
  }).meta({ type: "string", format: "date-time" });
}

const DATA_URL = /^data:image\/[a-z0-9.+-]+;base64,/i;
const MAX_HEAD = 100;
const ISO = z.regexes.datetime({ offset: true });

type Fail = (type: string, message: string) => never;

/** A schema that only parses, in the same way for a client's JSON and for an environment's value. */
function field<I, O extends object | string>(parse: (value: unknown, fail: Fail) => O) {
  const transform = z.transform<I, O>((input, context) =>
    parse(input, (type, message) => {
      context.issues.push({ code: "custom", input, message, params: { type } });
      return z.NEVER;
    }),
  );
  return z.pipe(z.unknown() as unknown as z.ZodType<I, I>, transform);
}

/** The media type of a file by its first bytes; undefined for types that some browsers cannot show. */
function imageType(bytes: Uint8Array): string | undefined {
  return TYPES.find(({ marks }) => marks.every(([at, text]) => startsWith(bytes, at, text)))?.type;
}

const TYPES: { type: string; marks: [number, string][] }[] = [
  { type: "image/png", marks: [[0, "\x89PNG\r\n\x1a\n"]] },
  { type: "image/jpeg", marks: [[0, "\xff\xd8\xff"]] },
  { type: "image/gif", marks: [[0, "GIF8"]] },
  {
    type: "image/webp",
    marks: [
      [0, "RIFF"],
      [8, "WEBP"],
    ],
  },
];

function startsWith(bytes: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false;
  return true;
}
