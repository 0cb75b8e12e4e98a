import { expect, it } from "vitest";
import { headerOf, readHttpResponse } from "./http-request.js";

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Name:  a b \r\n\r\n{"é":1}'.replace("7", "8");
const CHUNKED = 'HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n';

it.each([
  [SIZED, { status: 200, body: '{"é":1}' }],
  [CHUNKED, { status: 503, body: '{"a":1}' }],
])("reads an answer once its last byte is there", (text, expected) => {
  const bytes = Buffer.from(text);
  for (let length = 0; length < bytes.length; length++) {
    expect(readHttpResponse(bytes.subarray(0, length)), `after ${length} bytes`).toBeUndefined();
  }
  expect(readHttpResponse(bytes)).toMatchObject(expected);
});

it("finds headers in whatever case they are written", () => {
  const { head } = readHttpResponse(Buffer.from(SIZED)) ?? { head: "" };
  expect([headerOf(head, "x-name"), headerOf(head, "name")]).toEqual(["a b", undefined]);
});

it.each([
  ["SSH-2.0-x\r\n\r\n", /no HTTP/],
  ["HTTP/1.1 200 OK\r\n\r\nwithout end", /without a length/],
  ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", /chunk/],
])("refuses %j", (text, message) => {
  expect(() => readHttpResponse(Buffer.from(text))).toThrow(message);
});
