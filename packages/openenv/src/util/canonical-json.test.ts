import { expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.js";

test.each([
  // The examples of RFC 8785, section 3.2.
  [
    JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],' +
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    ),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  ],
  [
    {
      "\u20ac": "Euro Sign",
      "\r": "CR",
      "\ufb33": "Dalet",
      "1": "One",
      "\ud83d\ude00": "Smiley",
      "\u0080": "C",
      ö: "o",
    },
    '{"\\r":"CR","1":"One","\u0080":"C","ö":"o","€":"Euro Sign","😀":"Smiley","\ufb33":"Dalet"}',
  ],
  [{ b: { d: 1, c: [{ z: 1, a: -0 }] }, a: undefined, f: () => 1 }, '{"b":{"c":[{"a":0,"z":1}],"d":1}}'],
  [
    { bytes: new Uint8Array([1, 2]), day: new Date(0), list: [undefined, Number.NaN] },
    '{"bytes":"AQI=","day":"1970-01-01T00:00:00.000Z","list":[null,null]}',
  ],
])("%j has one form", (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

test.each([new Map([[1, 2]]), { inner: new Set([1]) }])("what JSON would lose is rejected: %s", (value) => {
  expect(() => canonicalJson(value)).toThrow(/has no JSON form: use an object or an array/);
});
