import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { registryAuth } from "./registry-auth.js";

let folder: string;
const path = process.env["PATH"];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openenv-login-"));
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true });
});

async function read(image: string, config: unknown): Promise<unknown> {
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  const header = await registryAuth(image, { DOCKER_CONFIG: folder });
  return header && JSON.parse(Buffer.from(header, "base64url").toString());
}

const auth = (text: string) => ({ auth: Buffer.from(text).toString("base64") });

test("the login of the image's registry is sent, and no other", async () => {
  const config = {
    auths: { "registry.test:5000": auth("me:pass:word"), "https://index.docker.io/v1/": auth("hub:secret") },
  };
  expect(await read("registry.test:5000/team/echo:1", config)).toEqual({
    username: "me",
    password: "pass:word",
    serveraddress: "registry.test:5000",
  });
  expect(await read("echo", config)).toMatchObject({ username: "hub" });
  expect(await read("team/echo", config)).toMatchObject({ username: "hub" });
  expect(await read("elsewhere.test/echo", config)).toBeUndefined();
});

test("a login by token is sent as one", async () => {
  const config = { auths: { "registry.test": { identitytoken: "token" } } };
  expect(await read("registry.test/echo", config)).toEqual({ identitytoken: "token", serveraddress: "registry.test" });
});

test("a program that keeps logins is asked; one that is missing or knows nothing is no failure", async () => {
  const helper = '#!/bin/sh\nread server\necho "{\\"Username\\":\\"me\\",\\"Secret\\":\\"$server\\"}"\n';
  await writeFile(join(folder, "docker-credential-kept"), helper, { mode: 0o755 });
  process.env["PATH"] = `${folder}${delimiter}${path}`;
  expect(await read("registry.test/echo", { credsStore: "kept" })).toMatchObject({ password: "registry.test" });
  expect(await read("registry.test/echo", { credHelpers: { "registry.test": "nonesuch" } })).toBeUndefined();
  expect(await read("registry.test/echo", { credsStore: "../escape" })).toBeUndefined();
});
