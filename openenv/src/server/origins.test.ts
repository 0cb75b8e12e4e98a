import { describe, expect, test } from "vitest";
import { createOrigins } from "./origins.js";

const { objection } = createOrigins("127.0.0.1", ["https://app.example", "https://tunnel.example"]);

describe("the Host on a loopback address", () => {
  test.each([
    ["localhost:8000"],
    ["LOCALHOST:8000"],
    ["localhost.:8000"],
    ["my.localhost:8000"],
    ["127.0.0.1"],
    ["[::1]:8000"],
    ["tunnel.example"],
    ["Tunnel.example:443"],
    [undefined],
  ])("%s is let in", (host) => {
    expect(objection({ host })).toBeUndefined();
  });

  test.each(["rebound.example", "localhost.example", "notlocalhost", "127.0.0.1.example", "", "tunnel.example:8000"])(
    "%j is refused, and the remedy named",
    (host) => {
      expect(objection({ host })).toMatch(/is not a name of this machine.* ALLOWED_ORIGINS/);
    },
  );
});

describe("a Host that was let in", () => {
  test("lets in no other after it, and is let in again itself", () => {
    const { objection } = createOrigins("127.0.0.1", []);
    for (let i = 0; i < 2; i++) {
      expect(objection({ host: "localhost:8000" })).toBeUndefined();
      expect(objection({ host: "rebound.example" })).toContain("rebound.example");
    }
  });

  test("lets in no foreign origin", () => {
    const { objection } = createOrigins("127.0.0.1", []);
    const headers = { host: "localhost:8000" };
    expect(objection(headers)).toBeUndefined();
    expect(objection({ ...headers, origin: "http://localhost:8000" })).toBeUndefined();
    expect(objection({ ...headers, origin: "https://y.example" })).toContain("https://y.example");
  });
});

describe("the Origin", () => {
  const anywhere = createOrigins("0.0.0.0", ["https://app.example"]);

  test.each([
    [{ host: "x.example:8000", origin: "http://x.example:8000" }],
    [{ host: "x.example:443", origin: "https://x.example" }],
    [{ host: "x.example", origin: "https://x.example" }],
    [{ host: "X.Example", origin: "https://x.example" }],
    [{ host: "10.0.0.2:8000", "x-forwarded-host": "me.example", origin: "https://me.example" }],
    [{ host: "10.0.0.2:8000", "x-forwarded-host": "me.example, inner", origin: "https://me.example" }],
    [{ host: "x.example", origin: "https://app.example" }],
    [{ host: "x.example" }],
  ])("%j is let in", (headers) => {
    expect(anywhere.objection(headers)).toBeUndefined();
  });

  test.each([
    [{ host: "x.example", origin: "https://y.example" }],
    [{ host: "x.example:443", origin: "http://x.example" }],
    [{ host: "x.example", origin: "null" }],
    [{ origin: "https://x.example" }],
    [{ host: "", origin: "" }],
    [{ host: "x.example", "x-forwarded-host": "me.example", origin: "https://y.example" }],
  ])("%j is refused, and the remedy named", (headers) => {
    expect(anywhere.objection(headers)).toMatch(/is not allowed; .* ALLOWED_ORIGINS/);
  });
});
