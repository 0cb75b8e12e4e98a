/** The real library against a Hub of the tests' own: the public one cannot be asked to keep what tests publish. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPublishable } from "../../../../test-support/commands/publishable.js";
import { type Hub, startHub } from "../../../../test-support/hub/hub-server.js";
import { OpenEnvError } from "../../../openenv/src/errors.js";
import { readManifest } from "../../../providers/src/manifest/read-manifest.js";
import { createHubSpace, readLogin } from "./hub-space.js";
import { stageSpace } from "./stage-space.js";

const ID = "author/counter_env";
let hub: Hub;

beforeEach(async () => {
  hub = await startHub();
  vi.stubEnv("HF_ENDPOINT", hub.url);
  await hub.addSpace(ID, {});
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await hub[Symbol.asyncDispose]();
});

async function upload(
  files: Record<string, string> = {},
  onProgress: (line: string) => void = () => {},
): Promise<void> {
  await using project = await createPublishable(files);
  await using staged = await stageSpace({ dir: project.dir, manifest: await readManifest(project.dir) });
  await open().upload(staged, { asPullRequest: false, onProgress });
}

function open(token = hub.token) {
  return createHubSpace(ID, { token, signal: new AbortController().signal });
}

async function failureOf(work: Promise<unknown>): Promise<OpenEnvError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OpenEnvError);
  return error as OpenEnvError;
}

test.each([
  [400, "does not accept"],
  [401, "does not know the token"],
  [402, "payment"],
  [403, "may not write"],
  [404, "no Space"],
  [409, "taken"],
  [412, "somebody else"],
  [413, "too large"],
  [429, "no more requests"],
  [503, "has a problem"],
])("a Hub that answers %i is one clear error, which does not show the token", async (status, text) => {
  hub.fail(/^POST .*\/commit\//, { status, error: `reason with ${hub.token}` });
  const { code, message } = await failureOf(upload());
  expect(code).toBe("HUB_FAILED");
  expect(message).toMatch(/^Cannot upload to the Space author\/counter_env: .*\(\d+: reason with <secret>\)$/);
  expect(message).toContain(text);
  expect(await hub.space(ID)?.files()).toEqual({});
});

test("an upload that breaks off leaves the Space as it was, and can be done again", async () => {
  hub.fail(/^POST .*\/commit\//, "drop", 1);
  expect((await failureOf(upload())).message).toMatch(/broke.*run the same command again/);
  expect(await hub.space(ID)?.files()).toEqual({});
  await upload();
  expect(await hub.space(ID)?.files()).toHaveProperty("Dockerfile");
});

test("files keep their paths and contents: deep, empty, binary for the Hub, with signs of URLs in their names", async () => {
  const files = {
    "a/b/c/d/e/f/deep.txt": "deep",
    "empty.txt": "",
    "data/ä b#1%20?.txt": "odd",
    "vendor/zero.bin": "a\0b",
  };
  await upload(files);
  const stored = await hub.space(ID)?.files();
  expect(stored).toMatchObject({ "a/b/c/d/e/f/deep.txt": "deep", "empty.txt": "", "data/ä b#1%20?.txt": "odd" });
  expect(stored?.["vendor/zero.bin"]).toContain("git-lfs");
  expect([...(hub.space(ID)?.large.values() ?? [])].map(String)).toEqual(["a\0b"]);
});

test("an upload says how far it is", async () => {
  const lines: string[] = [];
  await upload({ "data/board.bin": "\u0000".repeat(1_000) }, (line) => lines.push(line));
  expect(lines).toEqual(expect.arrayContaining(["uploading and committing", "uploading data/board.bin: 100 %"]));
});

test("a Hub that cannot be reached is named", async () => {
  const ended = await startHub();
  await ended[Symbol.asyncDispose]();
  vi.stubEnv("HF_ENDPOINT", ended.url);
  const signal = new AbortController().signal;
  const { message } = await failureOf(readLogin({ token: hub.token, signal }));
  expect(message).toMatch(/^Cannot log in to the Hub: .*ECONNREFUSED/);
  expect(message).toContain(ended.url);
});

test("a refused secret, variable or hardware is named, and its value is not", async () => {
  hub.fail(/^POST .*\/(secrets|variables|hardware)$/, { status: 402, error: "no to s3cret-value" });
  expect((await failureOf(open().setSecret("KEY", "s3cret-value"))).message).toMatch(
    /^Cannot set the secret KEY: .*no to <secret>/,
  );
  expect((await failureOf(open().setVariable("SIZE", "1"))).message).toMatch(/^Cannot set the variable SIZE: /);
  expect((await failureOf(open().requestHardware("t4-small"))).message).toMatch(
    /^Cannot get the hardware t4-small: the Hub wants a payment/,
  );
});

test("a token that may only read changes nothing", async () => {
  expect((await failureOf(open(hub.readToken).setVariable("SIZE", "1"))).message).toContain("write access to author");
  expect((await failureOf(open("hf_unknown").create({ private: false }))).message).toContain("does not know the token");
});

test("a Space that is there is not created again", async () => {
  expect(await open().create({ private: true })).toBe(false);
  expect(hub.space(ID)?.private).toBe(false);
});
