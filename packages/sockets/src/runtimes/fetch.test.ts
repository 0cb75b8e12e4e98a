import { expect, test } from "vitest";
import { FetchResponse } from "./fetch.js";

test("an answer on Bun and Deno has each value of a header that is sent several times", async () => {
  const response = new FetchResponse();
  response.setHeader("x-own", "1");
  response.writeHead(200, { "content-type": "text/plain", "set-cookie": ["a=1", "b=2"] });
  response.end("in");
  const { headers } = await response.answer;
  expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect([headers.get("content-type"), headers.get("x-own")]).toEqual(["text/plain", "1"]);
});
