import * as fc from "fast-check";
import { expect, test } from "vitest";
import { memberText } from "./member-text.js";

test.each<[string, string | undefined]>([
  ['{"data":{"a":1.0,"b":[12345678901234567890]}}', '{"a":1.0,"b":[12345678901234567890]}'],
  ['\n{ "type" : "step" ,\t"data" : "}\\"{" }', '"}\\"{"'],
  ['{"data":1e400,"x":{"data":2}}', "1e400"],
  ['{"x":{"data":2}}', undefined],
  ["{}", undefined],
  ['{"data":null}', "null"],
  ['{"data":1,"data":-2.50}', "-2.50"],
  ['{"d\\u0061ta":true}', "true"],
  ['{"\\\\":"\\\\","data":[]}', "[]"],
])("%s", (text, expected) => {
  expect(memberText(text, "data")).toBe(expected);
});

test("has the value of any member of any object, whatever its spaces are", () => {
  const spaces = fc.constantFrom(undefined, 1, "\t");
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), spaces, (object, space) => {
      const text = JSON.stringify(object, null, space);
      for (const key in object) expect(JSON.parse(memberText(text, key) ?? "")).toEqual(JSON.parse(text)[key]);
    }),
  );
});
