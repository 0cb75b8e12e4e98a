import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findEngine } from "./connection.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openenv-engine-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("DOCKER_HOST names a socket, or a host with the usual port", () => {
  expect(findEngine({ DOCKER_HOST: "unix:///run/mine.sock" })).toMatchObject({ socketPath: "/run/mine.sock" });
  expect(findEngine({ DOCKER_HOST: "tcp://box" })).toEqual({ name: "tcp://box", host: "box", port: 2375 });
  expect(findEngine({ DOCKER_HOST: "tcp://[::1]:99" })).toMatchObject({ host: "::1", port: 99 });
});

test("DOCKER_TLS_VERIFY takes the certificates of DOCKER_CERT_PATH", async () => {
  await writeFile(join(folder, "ca.pem"), "authority");
  const engine = findEngine({ DOCKER_HOST: "tcp://box", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: folder });
  expect(engine).toMatchObject({ port: 2376, tls: { ca: "authority", rejectUnauthorized: true } });
});

test("what is no address says what is one", () => {
  expect(() => findEngine({ DOCKER_HOST: "box" })).toThrow(/unix:\/\/, npipe:\/\/ or tcp:\/\//);
  expect(() => findEngine({ DOCKER_HOST: "ssh://box" })).toThrow(/ssh -L/);
});

test("a context that does not exist is named", () => {
  const find = () => findEngine({ DOCKER_CONFIG: folder, DOCKER_CONTEXT: "nonesuch" });
  expect(find).toThrow(/no docker context "nonesuch"/);
});

test("without an engine of the machine that of the user is taken", async () => {
  // Only where the machine has none: its socket comes first.
  const machine = findEngine({ DOCKER_CONFIG: folder }).socketPath;
  await mkdir(join(folder, "run"));
  const server = createServer().listen(join(folder, "run/docker.sock"));
  await once(server, "listening");
  const engine = findEngine({ DOCKER_CONFIG: folder, XDG_RUNTIME_DIR: join(folder, "run") });
  server.close();
  expect([machine, join(folder, "run/docker.sock")]).toContain(engine.socketPath);
});
