import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Assets } from "./assets.js";

const CODE = "console.log('page');";
const SECRET = "secret of the machine";

let root: string;
let server: Server;
let port: number;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "openenv-assets-"));
  await fill(join(root, "web"));
  await writeFile(join(root, "secret.json"), SECRET);
  await symlink(join(root, "secret.json"), join(root, "web/assets/link.json"));
  await symlink(root, join(root, "web/assets/out"));
  const assets = new Assets(join(root, "web"));
  // As the router does, but with nothing in front that could refuse first.
  server = createServer((request, response) => {
    const name = decodeURIComponent((request.url ?? "/").slice(1));
    void assets.send(name, request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(root, { recursive: true, force: true });
});

async function fill(folder: string): Promise<void> {
  await mkdir(join(folder, "assets"), { recursive: true });
  await writeFile(join(folder, "index.html"), "<!doctype html>");
  await writeFile(join(folder, "assets/page-1a2b.js"), CODE);
  await writeFile(join(folder, "assets/page-1a2b.js.br"), brotliCompressSync(CODE));
  await writeFile(join(folder, "assets/page-1a2b.js.gz"), gzipSync(CODE));
  await writeFile(join(folder, "assets/page.css"), "p {}");
  await writeFile(join(folder, "assets/page.css.gz"), gzipSync("p {}"));
  await writeFile(join(folder, "logo.svg"), "<svg/>");
  await writeFile(join(folder, "notes.exe"), SECRET);
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(`http://127.0.0.1:${port}${path}`, { headers });
}

/** The whole answer to a GET whose target no client library would send. */
async function getRaw(target: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  return text;
}

describe("assets", () => {
  test.each([
    ["/", "text/html; charset=utf-8", "no-cache"],
    ["/index.html", "text/html; charset=utf-8", "no-cache"],
    ["/logo.svg", "image/svg+xml", "max-age=3600"],
    ["/assets/page-1a2b.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"],
    ["/assets/page.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"],
  ])("%s has its type and the time it may be kept", async (path, type, cache) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("cache-control")).toBe(cache);
  });

  test.each([
    ["/assets/page-1a2b.js", "gzip, deflate, br", "br"],
    ["/assets/page-1a2b.js", "gzip", "gzip"],
    ["/assets/page-1a2b.js", "br;q=0, gzip;q=0.5", "gzip"],
    ["/assets/page-1a2b.js", "br;q=0.0", null],
    ["/assets/page-1a2b.js", "identity", null],
    ["/assets/page.css", "br, gzip", "gzip"],
    ["/logo.svg", "br, gzip", null],
  ])("%s for a client that takes %s is sent as %s", async (path, accepted, encoding) => {
    const response = await get(path, { "accept-encoding": accepted });
    expect(response.headers.get("content-encoding")).toBe(encoding);
    expect(response.headers.get("vary")).toBe(path === "/logo.svg" ? null : "accept-encoding");
    expect((await response.text()).length).toBeGreaterThan(0);
  });

  test.each([
    "/nothing.js",
    "/assets",
    "/assets/",
    "/assets/page-1a2b.js.br",
    "/notes.exe",
    "/../secret.json",
    "/..%2fsecret.json",
    "/%2e%2e/secret.json",
    "/%2e%2e%2fsecret.json",
    "/assets/../../secret.json",
    "/assets/..%5c..%5csecret.json",
    "/assets/%2e%2e/%2e%2e/secret.json",
    "/./index.html",
    "//index.html",
    "/assets//page.css",
    "/assets/link.json",
    "/assets/out/secret.json",
    "/index.html%00.html",
    "/%00",
    "/secret.json%00.html",
    "/constructor",
    "/__proto__",
  ])("%s is not there", async (target) => {
    const answer = await getRaw(target);
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
    expect(answer).not.toContain(SECRET);
  });

  test("of an absolute path are not there", async () => {
    for (const path of [join(root, "secret.json"), `/${join(root, "secret.json")}`]) {
      expect(await getRaw(path)).toMatch(/^HTTP\/1.1 404 /);
    }
  });

  test("are found again when the folder was replaced by another build", async () => {
    expect((await get("/assets/page.css")).status).toBe(200);
    await rename(join(root, "web"), join(root, "old"));
    expect((await get("/assets/page.css")).status).toBe(404);
    expect(await (await get("/")).text()).toContain("npm run build");
    await fill(join(root, "web"));
    expect((await get("/assets/page.css")).status).toBe(200);
  });
});
