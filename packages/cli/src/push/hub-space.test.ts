/** Uses the real library against a test Hub, because tests must not publish to the public Hub. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createPublishable } from "../../../../test-support/commands/publishable.js";
import { type Hub, startHub } from "../../../../test-support/hub/hub-server.js";
import { OpenEnvError } from "../../../openenv/src/errors.js";
import { readManifest } from "../../../providers/src/manifest/read-manifest.js";
import { readLogin } from "./hub-repository.js";
import { createHubSpace } from "./hub-space.js";
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
  [400, "rejected the request"],
  [401, "the token is not valid"],
  [402, "payment"],
  [403, "no write access"],
  [404, "does not exist"],
  [409, "taken"],
  [412, "changed at the same time"],
  [413, "too large"],
  [429, "rate limit exceeded"],
  [503, "internal error"],
])("a Hub that answers %i is one clear error, which does not show the token", async (status, text) => {
  hub.fail(/^POST .*\/commit\//, { status, error: `reason with ${hub.token}` });
  const { code, message } = await failureOf(upload());
  expect(code).toBe("HUB_FAILED");
  expect(message).toMatch(/^Cannot upload to the Space author\/counter_env: .*\(\d+: reason with <secret>\)$/);
  expect(message).toContain(text);
  expect(await hub.space(ID)?.files()).toEqual({});
});

test("a failed upload does not change the Space, and can be repeated", async () => {
  hub.fail(/^POST .*\/commit\//, "drop", 1);
  expect((await failureOf(upload())).message).toMatch(/failed.*run the command again/);
  expect(await hub.space(ID)?.files()).toEqual({});
  await upload();
  expect(await hub.space(ID)?.files()).toHaveProperty("Dockerfile");
});

test("files keep their paths and contents: nested, empty, binary, with special URL characters in their names", async () => {
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

test("an upload reports its progress", async () => {
  const lines: string[] = [];
  await upload({ "data/board.bin": "\u0000".repeat(1_000) }, (line) => lines.push(line));
  expect(lines).toEqual(expect.arrayContaining(["uploading and committing", "uploading data/board.bin: 100 %"]));
});

test("an unreachable Hub is named in the error", async () => {
  const ended = await startHub();
  await ended[Symbol.asyncDispose]();
  vi.stubEnv("HF_ENDPOINT", ended.url);
  const signal = new AbortController().signal;
  const { message } = await failureOf(readLogin({ token: hub.token, signal }));
  expect(message).toMatch(/^Cannot log in to the Hub: .*ECONNREFUSED/);
  expect(message).toContain(ended.url);
});

test("the error of a rejected secret, variable or hardware has its name but not its value", async () => {
  hub.fail(/^POST .*\/(secrets|variables|hardware)$/, { status: 402, error: "no to s3cret-value" });
  expect((await failureOf(open().setSecret("KEY", "s3cret-value"))).message).toMatch(
    /^Cannot set the secret KEY: .*no to <secret>/,
  );
  expect((await failureOf(open().setVariable("SIZE", "1"))).message).toMatch(/^Cannot set the variable SIZE: /);
  expect((await failureOf(open().requestHardware("t4-small"))).message).toMatch(
    /^Cannot get the hardware t4-small: payment required/,
  );
});

test("a read-only token changes nothing", async () => {
  expect((await failureOf(open(hub.readToken).setVariable("SIZE", "1"))).message).toContain("write access to author");
  expect((await failureOf(open("hf_unknown").create({ private: false }))).message).toContain("the token is not valid");
});

test("an existing Space is not created again", async () => {
  expect(await open().create({ private: true })).toBe(false);
  expect(hub.space(ID)?.private).toBe(false);
});
