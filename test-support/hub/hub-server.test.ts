/** The Hub of the tests, asked by the libraries that talk to the real one. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createRepo, downloadFile, listFiles, spaceInfo, uploadFiles, whoAmI } from "@huggingface/hub";
import { describe, expect, test } from "vitest";
import { startHub } from "./hub-server.js";

const run = promisify(execFile);

describe("the JavaScript library", () => {
  test("says whose the token is, and refuses another", async () => {
    await using hub = await startHub();
    expect(await whoAmI({ accessToken: hub.token, hubUrl: hub.url })).toMatchObject({
      name: "author",
      orgs: [{ name: "crew" }],
    });
    await expect(whoAmI({ accessToken: "hf_other", hubUrl: hub.url })).rejects.toMatchObject({ statusCode: 401 });
  });

  test("creates a Space, commits to it and reads it again, small files and large", async () => {
    await using hub = await startHub();
    const call = { hubUrl: hub.url, accessToken: hub.token, repo: { type: "space", name: "crew/one" } } as const;
    // A zero among the first bytes is what makes a file binary.
    const bytes = Buffer.concat([Buffer.of(0), randomBytes(4095)]);
    expect(await createRepo({ ...call, sdk: "docker" })).toMatchObject({ id: "crew/one" });
    await uploadFiles({
      ...call,
      files: [
        { path: "server/app.ts", content: new Blob(["text"]) },
        { path: "vendor/one.tgz", content: new Blob([bytes]) },
      ],
    });
    const names: string[] = [];
    for await (const { path } of listFiles({ ...call, recursive: true })) names.push(path);
    expect(names).toEqual([".gitattributes", "README.md", "server", "server/app.ts", "vendor", "vendor/one.tgz"]);
    const large = await downloadFile({ ...call, path: "vendor/one.tgz" });
    expect(Buffer.from((await large?.arrayBuffer()) as ArrayBuffer)).toEqual(bytes);
    expect((await hub.space("crew/one")?.files())?.["vendor/one.tgz"]).toContain("git-lfs");
    await expect(createRepo({ ...call, sdk: "docker" })).rejects.toMatchObject({ statusCode: 409 });
  });

  test("opens a pull request, which leaves the branch as it is", async () => {
    await using hub = await startHub();
    const space = await hub.addSpace("other/two", { "a.txt": "1" });
    const files = [{ path: "a.txt", content: new Blob(["2"]) }];
    const repo = { type: "space", name: "other/two" } as const;
    const done = await uploadFiles({ hubUrl: hub.url, accessToken: hub.token, repo, files, isPullRequest: true });
    expect(done?.pullRequestUrl).toBe(`${hub.url}/spaces/other/two/discussions/1`);
    expect(space.pulls[0]?.files).toEqual({ "a.txt": "2" });
    expect(await space.files()).toEqual({ "a.txt": "1" });
    await expect(uploadFiles({ hubUrl: hub.url, accessToken: hub.token, repo, files })).rejects.toMatchObject({
      statusCode: 403,
    });
  });

  test("tells what a Space is doing, and nothing about a private one", async () => {
    await using hub = await startHub();
    await hub.addSpace("author/asleep", {}, { stage: "SLEEPING" });
    await hub.addSpace("author/own", {}, { private: true });
    const about = (name: string, accessToken?: string) =>
      spaceInfo({ name, hubUrl: hub.url, additionalFields: ["runtime", "sha"], ...(accessToken && { accessToken }) });
    expect((await about("author/asleep")).runtime?.stage).toBe("SLEEPING");
    expect(await about("author/own", hub.token)).toMatchObject({ private: true });
    await expect(about("author/own")).rejects.toMatchObject({ statusCode: 401 });
    await expect(about("author/own", hub.readToken)).rejects.toMatchObject({ statusCode: 404 });
  });

  test("sees each failure that is switched on, and the break of an upload", async () => {
    await using hub = await startHub();
    await hub.addSpace("author/three", {});
    for (const status of [401, 402, 403, 404, 409, 429, 503]) {
      hub.fail(/^GET \/api\/spaces/, { status }, 1);
      const asked = spaceInfo({ name: "author/three", hubUrl: hub.url });
      await expect(asked, String(status)).rejects.toMatchObject({ statusCode: status });
    }
    hub.fail(/commit/, "drop", 1);
    const repo = { type: "space", name: "author/three" } as const;
    const files = [{ path: "a.txt", content: new Blob(["1"]) }];
    const upload = () => uploadFiles({ hubUrl: hub.url, accessToken: hub.token, repo, files });
    await expect(upload()).rejects.toThrow("fetch failed");
    await upload();
    expect(await hub.space("author/three")?.files()).toEqual({ "a.txt": "1" });
  });
});

test("git clones a Space, a private one with a token only", async () => {
  await using hub = await startHub();
  await hub.addSpace("author/own", { "server/app.ts": "text" }, { private: true });
  const dir = await mkdtemp(join(tmpdir(), "clone-"));
  const clone = (url: string) =>
    run("git", ["clone", "--quiet", "--depth", "1", url, join(dir, "own")], {
      env: { ...process.env, GIT_TERMINAL_PROMPT: "0" },
    });
  const url = `${hub.url}/spaces/author/own`;
  await expect(clone(url)).rejects.toThrow("could not read Username");
  await clone(url.replace("//", `//author:${hub.token}@`));
  expect(await readFile(join(dir, "own/server/app.ts"), "utf8")).toBe("text");
  await rm(dir, { recursive: true });
});
