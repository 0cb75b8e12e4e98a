import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { bytes, datetime, image } from "./fields.js";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]);

function issueType(schema: z.ZodType, value: unknown): unknown {
  const issue = schema.safeParse(value).error?.issues[0];
  return issue?.code === "custom" ? issue.params?.["type"] : issue;
}

describe("bytes", () => {
  test("accept base64 strings and bytes, return bytes, and are sent as base64", () => {
    const { data } = z.object({ data: bytes() }).parse({ data: "AQL/" });
    expect([...data]).toEqual([1, 2, 255]);
    expect(data).toBeInstanceOf(Uint8Array);
    expect(JSON.stringify({ data: bytes().parse(new Uint8Array([1, 2, 255])) })).toBe('{"data":"AQL/"}');
    expect(JSON.stringify(bytes().parse(Buffer.from("ab").subarray(1)))).toBe('"Yg=="');
  });

  test("are a copy that later changes of the buffer do not affect", () => {
    const buffer = new Uint8Array([1, 2]);
    const data = bytes().parse(buffer);
    buffer[0] = 9;
    expect([...data]).toEqual([1, 2]);
    expect(data.slice(0, 1).constructor).toBe(Uint8Array);
  });

  test.each(["A", "AA", "AA=", "AB==", "AAB=", "A===", "====", "AA==AA==", "AQ L/", "AQL_", "\u00e9AAA", "AQL/\n"])(
    "reject %j, which is not canonical base64",
    (text) => {
      expect(issueType(bytes(), text)).toBe("base64_decode");
    },
  );

  test.each([[5], [null], [[1, 2]], [new Date()], [undefined]])(
    "reject %j, which is neither a string nor bytes",
    (value) => {
      expect(issueType(bytes(), value)).toBe("bytes_type");
    },
  );

  test("with any content survive a round trip", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (data) => {
        const text = JSON.parse(JSON.stringify(bytes().parse(data))) as string;
        expect(text).toBe(Buffer.from(data).toString("base64"));
        expect([...bytes().parse(text)]).toEqual([...data]);
      }),
    );
  });
});

describe("in a browser, which has no Buffer, bytes", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  test("survive a round trip", async () => {
    vi.resetModules();
    vi.stubGlobal("Buffer", undefined);
    const { decodeBase64, encodeBase64 } = await import("../util/text/base64.js");
    const data = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
    expect(decodeBase64(encodeBase64(data))).toEqual(data);
    expect(decodeBase64("AB==")).toBeUndefined();
  });
});

describe("an image", () => {
  test.each([
    ["PNG", PNG, "data:image/png;base64,iVBORw0KGgoAAA=="],
    ["JPEG", new Uint8Array([0xff, 0xd8, 0xff]), "data:image/jpeg;base64,/9j/"],
    ["GIF", new TextEncoder().encode("GIF89a"), "data:image/gif;base64,R0lGODlh"],
    ["WebP", new TextEncoder().encode("RIFF....WEBP"), "data:image/webp;base64,UklGRi4uLi5XRUJQ"],
  ])("from the bytes of a %s file becomes a data URL", (_kind, data, url) => {
    expect(image().parse(data)).toBe(url);
    expect(image().parse(url)).toBe(url);
  });

  test.each([
    [new Uint8Array([1, 2, 3])],
    [new TextEncoder().encode("RIFF....WAVE")],
    ["https://example.org/a.png"],
    ["data:image/png;base64,A"],
    ["data:text/html;base64,AAAA"],
    ["data:image/png,AAAA"],
  ])("rejects %o", (value) => {
    expect(issueType(image(), value)).toBe("value_error");
  });

  test("rejects a number", () => {
    expect(issueType(image(), 5)).toBe("string_type");
  });
});

describe("a datetime", () => {
  test.each([
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02T03:04:05.678+01:00", "2026-01-02T02:04:05.678Z"],
    ["2026-01-02 03:04:05Z", "2026-01-02T03:04:05.000Z"],
  ])("accepts %s", (text, sent) => {
    expect(datetime().parse(text)).toBeInstanceOf(Date);
    expect(JSON.stringify(datetime().parse(text))).toBe(JSON.stringify(sent));
  });

  test("accepts a Date", () => {
    const now = new Date();
    expect(datetime().parse(now)).toEqual(now);
    expect(issueType(datetime(), new Date(Number.NaN))).toBe("datetime_parsing");
  });

  test.each(["yesterday", "2026-01-02", "2026-01-02T03:04:05", "2026-02-30T00:00:00Z", "2026-01-02T99:04:05Z", ""])(
    "rejects %j",
    (text) => {
      expect(issueType(datetime(), text)).toBe("datetime_from_date_parsing");
    },
  );

  test("rejects a number", () => {
    expect(issueType(datetime(), 5)).toBe("datetime_type");
  });
});
