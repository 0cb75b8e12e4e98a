import { describe, expect, test } from "vitest";
import { parseHosts } from "../config/hosts.js";
import { createOrigins } from "./origins.js";

const { rejectionReason } = createOrigins({
  host: "127.0.0.1",
  allowedOrigins: ["https://app.example", "https://tunnel.example"],
  allowedHosts: ["proxy.example"],
});

describe("the Host on a loopback address", () => {
  test.each([
    ["localhost:8000"],
    ["LOCALHOST:8000"],
    ["localhost.:8000"],
    ["my.localhost:8000"],
    ["127.0.0.1"],
    ["[::1]:8000"],
    ["10.0.0.2:8000"],
    ["[2001:db8::1]:8000"],
    ["proxy.example"],
    ["Proxy.Example.:8080"],
    ["tunnel.example"],
    ["Tunnel.example:443"],
    [undefined],
  ])("%s is allowed", (host) => {
    expect(rejectionReason({ host })).toBeUndefined();
  });

  test.each([
    "rebound.example",
    "tunnel.example:8000",
    "localhost.example",
    "notlocalhost",
    "127.0.0.1.example",
    "",
    ":8000",
    "x.proxy.example",
    "10.0.0.2.example",
  ])("%j is rejected with the remedy", (host) => {
    expect(rejectionReason({ host })).toMatch(/is not a name of this server.* ALLOWED_HOSTS/);
  });
});

describe("a Host that was allowed", () => {
  test("does not allow other hosts, and is allowed again", () => {
    const { rejectionReason } = createOrigins({ host: "127.0.0.1", allowedOrigins: [], allowedHosts: [] });
    for (let i = 0; i < 2; i++) {
      expect(rejectionReason({ host: "localhost:8000" })).toBeUndefined();
      expect(rejectionReason({ host: "rebound.example" })).toContain("rebound.example");
    }
  });

  test("does not allow a foreign origin", () => {
    const { rejectionReason } = createOrigins({ host: "127.0.0.1", allowedOrigins: [], allowedHosts: [] });
    const headers = { host: "localhost:8000" };
    expect(rejectionReason(headers)).toBeUndefined();
    expect(rejectionReason({ ...headers, origin: "http://localhost:8000" })).toBeUndefined();
    expect(rejectionReason({ ...headers, origin: "https://y.example" })).toContain("https://y.example");
  });
});

describe("the Host on an address for every interface", () => {
  const { rejectionReason, hostRejectionReason } = createOrigins({
    host: "0.0.0.0",
    allowedOrigins: ["https://app.example"],
    allowedHosts: ["env.example"],
  });
  const known = ["127.0.0.1:8000", "localhost:8000", "10.0.0.2:8000", "[::1]:8000", "env.example:8000", "ENV.example."];

  test.each(known)("%s is allowed with an Origin", (host) => {
    expect(rejectionReason({ host, origin: `http://${host}` })).toBeUndefined();
    expect(hostRejectionReason({ host }, true)).toBeUndefined();
  });

  test("a foreign name is rejected with an Origin, also in a request that only reads", () => {
    const rebound = { host: "evil.example:8000", origin: "http://evil.example:8000" };
    const refusal = /"evil\.example:8000" is not a name of this server.*add evil\.example to ALLOWED_HOSTS/;
    expect(rejectionReason(rebound)).toMatch(refusal);
    expect(hostRejectionReason(rebound)).toMatch(refusal);
    expect(rejectionReason({ ...rebound, "x-forwarded-host": "env.example" })).toMatch(refusal);
  });

  test("any name is allowed without an Origin, except on routes for operators", () => {
    const stock = { host: "openenv-servers.default.svc:8000" };
    expect(rejectionReason(stock)).toBeUndefined();
    expect(hostRejectionReason(stock)).toBeUndefined();
    expect(hostRejectionReason(stock, true)).toMatch(/add openenv-servers\.default\.svc to ALLOWED_HOSTS/);
    expect(hostRejectionReason({}, true)).toBeUndefined();
    expect(rejectionReason({ host: "", origin: "" })).toBeDefined();
  });

  test("an allowed origin may use any name", () => {
    expect(rejectionReason({ host: "x.example", origin: "https://app.example" })).toBeUndefined();
  });
});

describe("the Origin", () => {
  const anywhere = createOrigins({
    host: "0.0.0.0",
    allowedOrigins: ["https://app.example"],
    allowedHosts: ["x.example", "me.example"],
  });

  test.each([
    [{ host: "x.example:8000", origin: "http://x.example:8000" }],
    [{ host: "x.example:443", origin: "https://x.example" }],
    [{ host: "x.example", origin: "https://x.example" }],
    [{ host: "X.Example", origin: "https://x.example" }],
    [{ host: "10.0.0.2:8000", "x-forwarded-host": "me.example", origin: "https://me.example" }],
    [{ host: "10.0.0.2:8000", "x-forwarded-host": "me.example, inner", origin: "https://me.example" }],
    [{ host: "x.example", origin: "https://app.example" }],
    [{ host: "x.example" }],
  ])("%j is allowed", (headers) => {
    expect(anywhere.rejectionReason(headers)).toBeUndefined();
  });

  test.each([
    [{ host: "x.example", origin: "https://y.example" }],
    [{ host: "x.example:443", origin: "http://x.example" }],
    [{ host: "x.example", origin: "null" }],
    [{ origin: "https://x.example" }],
    [{ host: "x.example", "x-forwarded-host": "me.example", origin: "https://y.example" }],
    // A foreign name that resolves to a proxy.
    [{ host: "10.0.0.2:8000", "x-forwarded-host": "evil.example", origin: "http://evil.example" }],
  ])("%j is rejected with the remedy", (headers) => {
    expect(anywhere.rejectionReason(headers)).toMatch(/is not allowed; .* ALLOWED_ORIGINS/);
  });
});

test("names are checked when they are parsed", () => {
  expect(parseHosts("ALLOWED_HOSTS", [" Env.Example. ", "", "a_b"])).toEqual(["env.example", "a_b"]);
  for (const name of ["https://env.example", "env.example:8000", "*", "a b"]) {
    expect(() => parseHosts("ALLOWED_HOSTS", [name])).toThrow(/ALLOWED_HOSTS must be host names without a port/);
  }
});
