import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { callCommand } from "../../../../test-support/commands/command-line.js";
import { type Hub, type SpaceFiles, startHub } from "../../../../test-support/hub/hub-server.js";
import { until } from "../../../../test-support/servers/cluster.js";
import { findSpace } from "../hub/find-space.js";
import { checkOut } from "./checkout.js";
import { parseGitUrl } from "./git-source.js";

const PYTHON: SpaceFiles = { "pyproject.toml": "[project]\n", "server/app.py": "" };
let hub: Hub;
let cache: string;
beforeEach(async () => {
  hub = await startHub();
  cache = await mkdtemp(join(tmpdir(), "cache-"));
  vi.stubEnv("HF_ENDPOINT", hub.url);
  vi.stubEnv("OPENENV_CACHE", cache);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub[Symbol.asyncDispose]();
  await rm(cache, { recursive: true, force: true });
});

const patience = () => ({ signal: AbortSignal.timeout(60_000) });
const fromSpace = async (id: string, token?: string) =>
  checkOut({ space: await findSpace(id, { token }), token }, patience());
const fromGit = (path: string) => checkOut({ git: parseGitUrl(`${hub.url}/spaces/${path}`) }, patience());

/** The content of the cache besides finished checkouts. */
async function leftOver(): Promise<string[]> {
  try {
    const all = await readdir(cache, { recursive: true });
    return all.filter((path) => path.includes("new-"));
  } catch (error) {
    // The folder was removed during the read.
    return [String(error)];
  }
}

const run = promisify(execFile);

/** The tarball of a package with only a package.json. */
async function pack(manifest: object): Promise<Buffer> {
  const dir = await mkdtemp(join(cache, "package-"));
  await writeFile(join(dir, "package.json"), JSON.stringify(manifest));
  const { stdout } = await run("npm", ["pack", "--silent", "--ignore-scripts"], { cwd: dir });
  return readFile(join(dir, stdout.trim()));
}

/** The same package as a git repository, as a dependency specifier. */
async function gitPackage(manifest: object): Promise<string> {
  const dir = await mkdtemp(join(cache, "git-"));
  await writeFile(join(dir, "package.json"), JSON.stringify(manifest));
  const as = ["-c", "user.name=author", "-c", "user.email=author@example.org"];
  for (const args of [
    ["init", "--quiet"],
    ["add", "."],
    [...as, "commit", "--quiet", "-m", "first"],
  ]) {
    await run("git", args, { cwd: dir });
  }
  return `git+file://${dir}`;
}

describe("a Space's repository", () => {
  test("is downloaded once for a commit, and again for the next", async () => {
    const { repository } = await hub.addSpace("author/one", PYTHON);
    const first = await fromSpace("author/one");
    expect(first.runtime).toBe("python");
    const asked = hub.requests.length;
    expect(await fromSpace("author/one")).toEqual(first);
    expect(hub.requests.length).toBe(asked + 1);
    const change = { path: "server/app.py", content: Buffer.from("changed") };
    await repository.commit("refs/heads/main", await repository.resolve("main"), "second", [change]);
    const second = await fromSpace("author/one");
    expect(await readFile(join(second.dir, "server/app.py"), "utf8")).toBe("changed");
    expect(await readFile(join(first.dir, "server/app.py"), "utf8")).toBe("");
  });

  test("comes with its large and its empty files", async () => {
    const space = await hub.addSpace("author/one", PYTHON);
    const { uploadFiles } = await import("@huggingface/hub");
    const bytes = Buffer.alloc(70_000, 1).fill(0, 100, 200);
    const files = [{ path: "vendor/a.tgz", content: new Blob([bytes]) }];
    await uploadFiles({ hubUrl: hub.url, accessToken: hub.token, repo: { type: "space", name: space.id }, files });
    const { dir } = await fromSpace("author/one");
    expect(await readFile(join(dir, "vendor/a.tgz"))).toEqual(bytes);
    expect(await readFile(join(dir, "server/app.py"), "utf8")).toBe("");
  });

  test("that is private needs the token", async () => {
    await hub.addSpace("author/own", PYTHON, { private: true });
    await expect(fromSpace("author/own")).rejects.toMatchObject({ code: "SOURCE_NOT_FOUND" });
    expect(await fromSpace("author/own", hub.token)).toMatchObject({ runtime: "python" });
  });

  test.each(["../escape.txt", "a/../../escape.txt", "/escape.txt", ".git/hooks/post-checkout"])(
    "with the path %s is refused, and nothing of it is kept",
    async (path) => {
      await hub.addSpace("author/bad", PYTHON);
      const entry = { type: "file", oid: "0".repeat(40), size: 1, path };
      hub.answer(/\/tree\//, [entry]);
      await expect(fromSpace("author/bad")).rejects.toThrow("leads outside its folder");
      expect(await leftOver()).toEqual([]);
      expect(existsSync("/escape.txt")).toBe(false);
    },
  );

  test("whose download breaks leaves nothing, and can be tried again", async () => {
    await hub.addSpace("author/one", PYTHON);
    hub.fail(/resolve/, "drop", 1);
    await expect(fromSpace("author/one")).rejects.toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    expect(await leftOver()).toEqual([]);
    expect(await fromSpace("author/one")).toMatchObject({ runtime: "python" });
  });

  test("that is not an environment, or has an invalid manifest, is named", async () => {
    await hub.addSpace("author/none", { "index.html": "" });
    await expect(fromSpace("author/none")).rejects.toThrow("neither a package.json nor a pyproject.toml");
    await hub.addSpace("author/wrong", { ...PYTHON, "openenv.yaml": "name: a\nport: many\n" });
    await expect(fromSpace("author/wrong")).rejects.toThrow("openenv.yaml:2");
  });

  test("is installed without running a script of it, of its packages, or a program that it names as git", async () => {
    // npm passes its own settings to a test that it starts.
    vi.stubEnv("npm_config_ignore_scripts", "false");
    const mark = join(cache, "ran");
    const touch = (name: string): string => `node -e "require('fs').appendFileSync('${mark}','${name} ')"`;
    const scripts = (name: string) =>
      Object.fromEntries(
        ["preinstall", "install", "postinstall", "prepare"].map((when) => [when, touch(`${name}-${when}`)]),
      );
    const git = await gitPackage({ name: "from-git", version: "1.0.0", scripts: scripts("from-git") });
    const manifest = {
      dependencies: { packed: "file:packed.tgz", "from-git": git },
      scripts: scripts("root"),
    };
    await hub.addSpace("author/scripts", {
      "package.json": JSON.stringify(manifest),
      "packed.tgz": await pack({ name: "packed", version: "1.0.0", scripts: scripts("packed") }),
      ".npmrc": "ignore-scripts=false\ngit=./evil\n",
      evil: `#!/bin/sh\necho git >> ${mark}\nexec git "$@"\n`,
    });
    const notes: string[] = [];
    const space = { space: await findSpace("author/scripts", { token: undefined }), token: undefined };
    const { dir } = await checkOut(space, { ...patience(), progress: (line) => notes.push(line) });
    expect(existsSync(join(dir, "node_modules/packed/package.json"))).toBe(true);
    expect(existsSync(join(dir, "node_modules/from-git/package.json"))).toBe(true);
    expect(existsSync(mark) ? await readFile(mark, "utf8") : "").toBe("");
    expect(notes.at(-1)).toMatch(/^install scripts of .*packed.* did not run\. .* npm rebuild .*packed.* in \//);
    await run("npm", ["rebuild", "packed"], { cwd: dir });
    expect(await readFile(mark, "utf8")).toMatch(/packed-install/);
    expect(await readFile(mark, "utf8")).not.toMatch(/root|git/);
  }, 90_000);

  test("whose packages cannot be installed says why", async () => {
    const dependencies = { "openenv-ts": "file:vendor/none.tgz" };
    await hub.addSpace("author/broken", { "package.json": JSON.stringify({ dependencies }) });
    await expect(fromSpace("author/broken")).rejects.toThrow(/npm install failed:[\s\S]*none\.tgz/);
    expect(await leftOver()).toEqual([]);
  });
});

describe("a git repository", () => {
  test("is cloned by its URL, at a branch, a tag or a commit", async () => {
    const { repository } = await hub.addSpace("author/one", PYTHON);
    const main = await repository.resolve("main");
    const changes = [{ path: "server/app.py", content: Buffer.from("on a branch") }];
    await repository.commit("refs/heads/other", main, "branch", changes);
    const { dir } = await fromGit("author/one");
    expect(dir.endsWith(String(main))).toBe(true);
    expect(existsSync(join(dir, ".git"))).toBe(false);
    const other = await fromGit("author/one#other");
    expect(await readFile(join(other.dir, "server/app.py"), "utf8")).toBe("on a branch");
    expect(await fromGit(`author/one#${main}`)).toEqual({ dir, runtime: "python" });
  });

  test("that is missing, or has no such branch, is named", async () => {
    await expect(fromGit("author/none")).rejects.toThrow(/git cannot clone http.*author\/none/);
    await hub.addSpace("author/one", PYTHON);
    await expect(fromGit("author/one#none")).rejects.toThrow(/git cannot clone none of .*couldn't find remote ref/);
  });

  test.each(["../../outside", "/etc/passwd", "nowhere"])("with a link to %s is refused", async (link) => {
    await hub.addSpace("author/bad", { ...PYTHON, "server/data": { link } });
    await expect(fromGit("author/bad")).rejects.toThrow('"server/data", which leads outside its folder');
    expect(await leftOver()).toEqual([]);
  });

  test("whose files are in Git LFS says that it is needed", async () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 7\n`;
    await hub.addSpace("author/one", { ...PYTHON, "a.tgz": pointer });
    await expect(fromGit("author/one")).rejects.toThrow("a.tgz is kept in Git LFS; install git-lfs");
  });

  test("is not written into the repository of a git that has started us", async () => {
    await hub.addSpace("author/one", PYTHON);
    const own = join(cache, "own");
    await run("git", ["init", "--quiet", own]);
    const before = await readdir(join(own, ".git"));
    vi.stubEnv("GIT_DIR", join(own, ".git"));
    vi.stubEnv("GIT_WORK_TREE", own);
    expect(existsSync(join((await fromGit("author/one")).dir, "pyproject.toml"))).toBe(true);
    expect([await readdir(join(own, ".git")), await readdir(own)]).toEqual([before, [".git"]]);
  });

  test("that was on its way when its caller was killed is seen by openenv ps, and leaves neither git nor files", async () => {
    await hub.addSpace("author/one", PYTHON);
    hub.fail(/info\/refs/, "hang");
    const state = join(cache, "state");
    const script = `
      import { processProvider } from "@openenv-ts/providers";
      await processProvider().start({ git: "${hub.url}/spaces/author/one" });`;
    const caller = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: join(import.meta.dirname, "../.."),
      env: { ...process.env, OPENENV_STATE_DIR: state },
      stdio: "ignore",
    });
    await until(() => hub.requests.length > 0);
    const { stdout } = await callCommand(["ps", "--json"], { cwd: cache, env: { OPENENV_STATE_DIR: state } });
    const rows = (JSON.parse(stdout) as { provider: string; owner: { pid: number } }[])
      .filter(({ owner }) => owner.pid === caller.pid)
      .map(({ provider }) => provider);
    expect(rows.sort()).toEqual(["checkout", "git"]);
    caller.kill("SIGKILL");
    await until(async () => (await leftOver()).length === 0 && (await readdir(join(state, "processes"))).length === 0);
  }, 90_000);

  test("is cancelled with its signal", async () => {
    await hub.addSpace("author/one", PYTHON);
    const git = parseGitUrl(`${hub.url}/spaces/author/one`);
    await expect(checkOut({ git }, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
    expect(await leftOver()).toEqual([]);
  });

  test.each([
    ["file:///etc", "is not a repository URL"],
    ["ssh://host/repo", "is not a repository URL"],
    ["ext::sh -c id", "is not a repository URL"],
    ["git@host:repo.git", "is not a repository URL"],
    ["http://example.com/repo.git", "is not a repository URL"],
    ["https://user:secret@example.com/repo.git", "Remove the name and password from https://example.com"],
    ["https://example.com/repo.git#--upload-pack=id", "is not a branch, tag or commit"],
    ["https://example.com/repo.git#a/../b", "is not a branch, tag or commit"],
  ])("%s is refused", (url, reason) => {
    expect(() => parseGitUrl(url)).toThrow(reason);
  });
});
