import { describe, expect, it } from "vitest";
import { parseAddress } from "./address.js";

const TABLE: [given: string, base: string, socket: string][] = [
  ["http://localhost:8000", "http://localhost:8000", "ws://localhost:8000/ws"],
  ["http://localhost:8000/", "http://localhost:8000", "ws://localhost:8000/ws"],
  ["HTTP://Localhost:8000", "http://localhost:8000", "ws://localhost:8000/ws"],
  ["https://a.example", "https://a.example", "wss://a.example/ws"],
  ["https://a.example:443/", "https://a.example", "wss://a.example/ws"],
  ["ws://localhost:8000", "http://localhost:8000", "ws://localhost:8000/ws"],
  ["wss://a.example/ws", "https://a.example", "wss://a.example/ws"],
  ["ws://localhost:8000/ws/", "http://localhost:8000", "ws://localhost:8000/ws"],
  ["localhost:8000", "http://localhost:8000", "ws://localhost:8000/ws"],
  ["localhost", "http://localhost", "ws://localhost/ws"],
  ["127.0.0.1:9/ws", "http://127.0.0.1:9", "ws://127.0.0.1:9/ws"],
  ["[::1]:8000", "http://[::1]:8000", "ws://[::1]:8000/ws"],
  ["https://a.example/envs/echo", "https://a.example/envs/echo", "wss://a.example/envs/echo/ws"],
  ["https://a.example/envs/echo/ws/", "https://a.example/envs/echo", "wss://a.example/envs/echo/ws"],
  ["https://a.example/news", "https://a.example/news", "wss://a.example/news/ws"],
  ["http://a.example/p/?key=1&b=x%20y", "http://a.example/p", "ws://a.example/p/ws?key=1&b=x+y"],
  ["http://a.example/ws?session_id=7#part", "http://a.example", "ws://a.example/ws?session_id=7"],
];

describe("parseAddress", () => {
  it.each(TABLE)("reads %s", (given, base, socket) => {
    const address = parseAddress(given);
    expect(address.base).toBe(base);
    expect(address.socket({})).toBe(socket);
  });

  it("keeps the caller's query on every route and adds its own keys to the socket's", () => {
    const address = parseAddress(new URL("http://a.example/p/?key=1"));
    expect(address.http("/schema")).toBe("http://a.example/p/schema?key=1");
    expect(address.http("/web/server?limit=1")).toBe("http://a.example/p/web/server?limit=1&key=1");
    expect(address.socket({ openenv: "warnings,timing" })).toBe("ws://a.example/p/ws?key=1&openenv=warnings%2Ctiming");
  });

  const WRONG = ["ftp://a.example", "", "http://", "a b", "file:///etc", "htp:/x", "http:/a.example", "a:", "a:99999"];
  it.each(WRONG)("rejects %j and says what to write", (given) => {
    expect(() => parseAddress(given)).toThrow(/is not the URL of a server: write http/);
  });

  it("rejects credentials in the URL and names the options for them", () => {
    expect(() => parseAddress("http://me:secret@a.example")).toThrow(/`headers` or `token`/);
  });
});
