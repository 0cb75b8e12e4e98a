import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dockerProvider, type FromHubOptions, fromHub, processProvider } from "@openenv-ts/providers";
import { connect } from "openenv-ts/client";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { counterModule, createProject } from "../../../../test-support/commands/command-line.js";
import { SMALL_PYTHON_PROJECT } from "../../../../test-support/commands/python-project.js";
import { counterContract } from "../../../../test-support/environments/counter.js";
import { type Hub, startHub } from "../../../../test-support/hub/hub-server.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();
const SECRET = "hf_author";

let hub: Hub;
let scratch: string;
beforeEach(async () => {
  hub = await startHub();
  scratch = await mkdtemp(join(tmpdir(), "from-hub-"));
  vi.stubEnv("HF_ENDPOINT", hub.url);
  vi.stubEnv("HF_TOKEN", "");
  vi.stubEnv("HF_HOME", scratch);
  vi.stubEnv("OPENENV_CACHE", join(scratch, "cache"));
  vi.stubEnv("OPENENV_STATE_DIR", join(scratch, "state"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub[Symbol.asyncDispose]();
  await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
});

const fails = async (repo: string, options: FromHubOptions = {}): Promise<Error & { code?: string }> => {
  const outcome = await fromHub(repo, options).catch((error: unknown) => error as Error);
  if (!(outcome instanceof Error)) await outcome.close();
  expect(outcome).toBeInstanceOf(Error);
  return outcome as Error;
};
const processes = () => readdir(join(scratch, "state", "processes")).catch(() => []);

describe("a Space's repository", () => {
  test("runs with Node, and its process ends with close", async () => {
    // Inside of this repository, where the environment finds openenv-ts.
    await using cache = await createProject();
    vi.stubEnv("OPENENV_CACHE", cache.dir);
    await hub.addSpace("author/counter", {
      "package.json": '{ "name": "counter", "version": "1.0.0", "type": "module" }',
      "environment.ts": counterModule(),
    });
    const env = await fromHub("author/counter", { useDocker: false });
    await env.reset();
    expect((await env.step({ amount: 2 })).observation).toMatchObject({ count: 2 });
    expect(await processes()).toHaveLength(1);
    await env.close();
    expect(await processes()).toEqual([]);
    await expect(connect(env.url)).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("at another host is refused: a provider can clone it", async () => {
    const elsewhere = await fails("https://example.com/author/echo.git#main");
    expect(elsewhere).toMatchObject({ code: "INVALID_CONFIG", message: expect.stringContaining("{ git }") });
  });

  test("stops downloading at the deadline or with the signal", async () => {
    await hub.addSpace("author/small", SMALL_PYTHON_PROJECT);
    const late = await fails("author/small", { useDocker: false, timeoutMs: 1 });
    expect(late).toMatchObject({ code: "START_TIMEOUT" });
    const aborted = await fails("author/small", { useDocker: false, signal: AbortSignal.abort() });
    expect(aborted).toMatchObject({ code: "ABORTED" });
    expect(await processes()).toEqual([]);
  });
});

describe("a running Space", () => {
  test("is used by the URL of its page or its host, and continues after close", async () => {
    const server = await servers.start();
    await hub.addSpace("author/counter", {}, { host: server.url });
    for (const url of [`${hub.url}/spaces/author/counter`, server.url]) {
      const env = await fromHub(url, { contract: counterContract });
      expect((await env.reset({ start: 3 })).observation.count).toBe(3);
      await env.close();
      expect((await fetch(`${server.url}/health`)).ok).toBe(true);
    }
  });

  test("receives the token only if it is private", async () => {
    const seen: (string | undefined)[] = [];
    const front = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    front.on("upgrade", (request, socket) => {
      seen.push(request.headers.authorization);
      socket.destroy();
    });
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void front.close());
    const host = `http://127.0.0.1:${(front.address() as { port: number }).port}`;
    for (const isPrivate of [true, false]) {
      seen.length = 0;
      await hub.addSpace(`author/space-${isPrivate}`, {}, { private: isPrivate, host });
      await fails(`${hub.url}/spaces/author/space-${isPrivate}`, { token: hub.token });
      expect(new Set(seen)).toEqual(new Set([isPrivate ? `Bearer ${SECRET}` : undefined]));
    }
  });

  test.each([
    ["SLEEPING", "is asleep. Open"],
    ["PAUSED", "is paused. Its owner can restart it"],
    ["STOPPED", "is stopped"],
    ["BUILDING", "is being built"],
    ["APP_STARTING", "is starting"],
    ["RUNTIME_ERROR", "is not running (RUNTIME_ERROR: Exit code: 1"],
  ])("that is %s says so, and what to do", async (stage, text) => {
    await hub.addSpace("author/counter", {}, { stage });
    const error = await fails(`${hub.url}/spaces/author/counter`);
    expect(error).toMatchObject({ code: "SPACE_NOT_RUNNING" });
    expect(error.message).toContain(text);
  });

  test("whose host does not answer says what that may mean", async () => {
    const error = await fails("http://127.0.0.1:9");
    expect(error).toMatchObject({ code: "CONNECTION_FAILED" });
    expect(error.message).toContain("asleep, paused or private");
  });

  test("takes no options of a start", async () => {
    const options = { replicas: 2, useDocker: false };
    expect((await fails(`${hub.url}/spaces/author/counter`, options)).message).toMatch(
      /leave out replicas, useDocker, or start your own: fromHub\("author\/counter"\)/,
    );
  });
});

describe("a Space that cannot be used", () => {
  test("because it is missing or private, with or without a token", async () => {
    await hub.addSpace("author/secret", {}, { private: true });
    const cases: [string, string, RegExp][] = [
      ["author/none", "", /no Space author\/none, or it is private.*hf auth login/],
      ["author/secret", "", /no Space author\/secret, or it is private/],
      ["author/secret", hub.readToken, /no Space author\/secret, or the token may not see it/],
    ];
    for (const [repo, token, text] of cases) {
      vi.stubEnv("HF_TOKEN", token);
      for (const options of [{}, { useDocker: false }]) {
        const error = await fails(repo, options);
        expect(error).toMatchObject({ code: "SOURCE_NOT_FOUND", message: expect.stringMatching(text) });
      }
    }
    expect(await fails("author/secret", { token: "hf_unknown" })).toMatchObject({
      code: "PROVIDER_UNAVAILABLE",
      message: expect.stringContaining("does not know the token"),
    });
  });

  test.each([
    [401, "PROVIDER_UNAVAILABLE", "does not know the token"],
    [402, "PROVIDER_UNAVAILABLE", "wants a payment"],
    [403, "SOURCE_NOT_FOUND", "may not read the Space"],
    [404, "SOURCE_NOT_FOUND", "no Space author/one"],
    [409, "PROVIDER_UNAVAILABLE", "is changing the Space"],
    [429, "PROVIDER_UNAVAILABLE", "takes no more requests"],
    [500, "PROVIDER_UNAVAILABLE", "could not answer"],
    [503, "PROVIDER_UNAVAILABLE", "could not answer"],
  ])("because the Hub answers %d", async (status, code, text) => {
    await hub.addSpace("author/one", {});
    hub.fail(/api\/spaces/, { status, error: `no for ${SECRET}` });
    const error = await fails("author/one", { token: hub.token });
    expect(error).toMatchObject({ code, message: expect.stringContaining(text) });
    expect(error.message).not.toContain(SECRET);
  });

  test("because the Hub does not answer at all", async () => {
    const gone = await startHub();
    await gone[Symbol.asyncDispose]();
    vi.stubEnv("HF_ENDPOINT", gone.url);
    const error = await fails("author/one");
    expect(error).toMatchObject({ code: "PROVIDER_UNAVAILABLE" });
    expect(error.message).toMatch(new RegExp(`${gone.url} cannot be reached.*ECONNREFUSED`));
  });

  test("because it has no image", async () => {
    await hub.addSpace("author/page", {}, { sdk: "static" });
    expect((await fails("author/page")).message).toContain("made with static, not with Docker");
    await hub.addSpace("author/broken", {}, { stage: "BUILD_ERROR" });
    expect((await fails("author/broken")).message).toContain("has no image yet (BUILD_ERROR)");
  });

  test.each(["../etc/passwd", "author", "author/../../x", "author/..", "-o/x", "author/name extra"])(
    "because %j is not a valid name",
    async (repo) => {
      expect(await fails(repo)).toMatchObject({
        code: "INVALID_CONFIG",
        message: expect.stringContaining("owner/name"),
      });
      expect(hub.requests).toEqual([]);
    },
  );

  test("because an option is wrong, before anything is asked", async () => {
    const refused: [object, RegExp][] = [
      [{ nonesuch: 1 }, /fromHub\(\) has no option "nonesuch"/],
      [{ replicas: 2 }, /docker provider starts one environment and has no replicas/],
      [{ replicas: 2, useDocker: false }, /process provider starts one.*has no replicas/],
      [{ replicas: 2, provider: dockerProvider() }, /has no replicas/],
      [{ useDocker: false, tag: "v2" }, /tag/],
      [{ provider: processProvider() }, /useDocker: false/],
      [{ tag: "a b" }, /tag is "a b"/],
      [{ timeoutMs: -1 }, /timeoutMs is -1/],
      [{ registry: "host/../x y" }, /registry is/],
    ];
    for (const [options, text] of refused) {
      expect(await fails("author/one", options)).toMatchObject({
        code: "INVALID_CONFIG",
        message: expect.stringMatching(text),
      });
    }
    expect(hub.requests).toEqual([]);
  });
});
