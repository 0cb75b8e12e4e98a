import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { counterContract } from "../../../../test-support/environments/counter.js";
import { speedUpTimers } from "../../../../test-support/fast-timers.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import { ConfigError, ProviderError } from "../../../openenv/src/errors.js";
import type { StartSpec } from "../provider.js";
import { makeRemovable } from "./make-removable.js";
import { waitAllReady } from "./ready.js";
import { startEnvironment } from "./start.js";
import type { AcquiredServer } from "./start-context.js";

const servers = useServers();
const SPEC: StartSpec = { directory: "." };
const NOBODY = "http://127.0.0.1:1";

const quiet = (url: AcquiredServer["url"]): AcquiredServer => ({ url, logs: async () => "line 1\nline 2\n" });

async function failed(starting: Promise<unknown>): Promise<ProviderError> {
  const error = await starting.then(
    () => new Error("it started"),
    (reason: unknown) => reason as Error,
  );
  expect(error).toBeInstanceOf(ProviderError);
  return error as ProviderError;
}

test("close runs the cleanups in reverse order, once", async () => {
  const server = await servers.start();
  const released: string[] = [];
  const started = await startEnvironment("test", SPEC, async (start) => {
    start.onCleanup(() => void released.push("first"));
    start.onCleanup(async () => void released.push("second"));
    return quiet(server.url);
  });
  expect([started.url, await started.logs(), released]).toEqual([server.url, "line 1\nline 2\n", []]);
  await Promise.all([started.close(), started.close()]);
  await started[Symbol.asyncDispose]();
  expect(released).toEqual(["second", "first"]);
});

test("of several URLs, the one that answers a reset is used", async () => {
  const server = await servers.start();
  const started = await startEnvironment("test", SPEC, async () => quiet([NOBODY, server.url]));
  expect(started.url).toBe(server.url);
});

test("several servers share one watch for their end", async () => {
  const urls = await Promise.all(Array.from({ length: 3 }, async () => (await servers.start()).url));
  const logs = async (): Promise<string> => "";
  const watching: AbortSignal[] = [];
  const ended = (signal: AbortSignal): Promise<string> => {
    watching.push(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  await waitAllReady(urls, { logs, ended }, AbortSignal.timeout(10_000));
  expect(watching.map(({ aborted }) => aborted)).toEqual([true]);
  const over = waitAllReady([...urls, NOBODY], { logs, ended: async () => "It ended" }, AbortSignal.timeout(10_000));
  await expect(over).rejects.toMatchObject({ code: "START_FAILED", message: "It ended before it answered a reset." });
});

test("a full server is ready, because it answers", async () => {
  const server = await servers.start({ maxConcurrentEnvs: 1 });
  const socket = await servers.open(server);
  await socket.ask({ type: "reset" });
  const started = await startEnvironment("test", { ...SPEC, timeoutMs: 10_000 }, async () => quiet(server.url));
  expect(started.url).toBe(server.url);
});

test("a failing acquire runs its cleanups, and the error has its message", async () => {
  const released: string[] = [];
  const starting = startEnvironment("test", SPEC, async (start) => {
    start.onCleanup(() => void released.push("begun"));
    start.running({ logs: async () => "the last words\n" });
    throw new Error("the disk is full");
  });
  const error = await failed(starting);
  expect(error).toMatchObject({ code: "START_FAILED", outcome: "lost", logs: "the last words\n" });
  expect(error.message).toBe("the disk is full\nThe last lines of its log:\nthe last words");
  expect(released).toEqual(["begun"]);
});

test("an invalid option stays a ConfigError, also when it is found late", async () => {
  const starting = startEnvironment("test", SPEC, async () => {
    throw new ConfigError("no such thing");
  });
  await expect(starting).rejects.toBeInstanceOf(ConfigError);
});

test("the deadline covers the whole start, and the error says what it waited for", async () => {
  const acquiring = startEnvironment("test", { ...SPEC, timeoutMs: 50 }, (start) => {
    start.progress("pulling an image");
    return new Promise((_, reject) => start.signal.addEventListener("abort", () => reject(start.signal.reason)));
  });
  const first = await failed(acquiring);
  expect(first).toMatchObject({ code: "START_TIMEOUT", message: expect.stringContaining("while pulling an image") });
  const waiting = startEnvironment("test", { ...SPEC, timeoutMs: 5_000 }, async () => quiet(NOBODY));
  const second = await failed(waiting);
  expect(second).toMatchObject({ code: "START_TIMEOUT", logs: "line 1\nline 2\n" });
  expect(second.message).toMatch(/timed out after 5000 ms while waiting for the answer to a reset \(Could not reach/);
});

test("a cleanup that an abandoned acquire registers later runs at once", async () => {
  let undone = false;
  const starting = startEnvironment("test", { ...SPEC, timeoutMs: 20 }, async (start) => {
    await once(start.signal, "abort");
    await sleep(50);
    start.onCleanup(() => {
      undone = true;
    });
    return quiet(NOBODY);
  });
  expect((await failed(starting)).code).toBe("START_TIMEOUT");
  expect(undone).toBe(true);
});

test("a resource that is created after the cleanup is removed as well", async () => {
  speedUpTimers(20);
  let isThere = false;
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const make = async (): Promise<void> => {
    await answered;
    isThere = true;
  };
  const remove = async (): Promise<void> => {
    isThere = false;
  };
  let making: Promise<void> | undefined;
  const starting = startEnvironment("test", { ...SPEC, timeoutMs: 400 }, async (start) => {
    making = makeRemovable(start, make, remove);
    await making;
    return quiet(NOBODY);
  });
  expect((await failed(starting)).code).toBe("START_TIMEOUT");
  answer();
  await expect(making).rejects.toThrow("timed out after 400 ms");
  expect(isThere).toBe(false);
});

test("an abort and a timeout are different errors, before the start and during it", async () => {
  let acquired = false;
  const before = startEnvironment("test", { ...SPEC, signal: AbortSignal.abort() }, async () => {
    acquired = true;
    return quiet(NOBODY);
  });
  expect([(await failed(before)).code, acquired]).toEqual(["ABORTED", false]);
  const controller = new AbortController();
  const onProgress = (): void => controller.abort();
  const spec = { ...SPEC, signal: controller.signal, onProgress };
  expect((await failed(startEnvironment("test", spec, async () => quiet(NOBODY)))).code).toBe("ABORTED");
});

test("a server that exits ends the wait", async () => {
  const ended = async (): Promise<string> => "The process exited with code 3";
  const starting = startEnvironment("test", SPEC, async () => ({ ...quiet(NOBODY), ended }));
  expect((await failed(starting)).message).toMatch(/^The process exited with code 3 before it answered a reset\./);
});

test("an environment that cannot be created fails the start at once", async () => {
  const environment = defineEnvironment(counterContract, () => {
    throw new Error("no model");
  });
  const server = await servers.start({}, { environment });
  const error = await failed(startEnvironment("test", SPEC, async () => quiet(server.url)));
  expect(error).toMatchObject({ code: "START_FAILED", message: expect.stringMatching(/cannot create.*no model/) });
});

test("a failed cleanup is reported, at close and after a failed start", async () => {
  const server = await servers.start();
  const stuck = (): never => {
    throw new Error("the engine is gone");
  };
  const started = await startEnvironment("test", SPEC, async (start) => {
    start.onCleanup(stuck);
    return quiet(server.url);
  });
  const left = expect.stringMatching(/the engine is gone[\s\S]*openenv prune/);
  await expect(started.close()).rejects.toMatchObject({ code: "RELEASE_FAILED", message: left });
  const starting = startEnvironment("test", SPEC, async (start) => {
    start.onCleanup(stuck);
    throw new Error("it broke");
  });
  expect(await failed(starting)).toMatchObject({ code: "START_FAILED", message: left });
});

test("values of secret variables are neither in the log nor in the error", async () => {
  const env = { API_KEY: "sk-123456", MODE: "production" };
  const logs = async (): Promise<string> => "calling with sk-123456 in production";
  const ended = async (): Promise<string> => "The process ended";
  const starting = startEnvironment("test", { ...SPEC, env }, async () => ({ url: NOBODY, logs, ended }));
  const error = await failed(starting);
  expect(error.logs).toBe("calling with <API_KEY> in production");
  expect(error.message).not.toContain("sk-123456");
});

test.each([
  [{}, /exactly one of image, directory, git/],
  [{ image: "a", directory: "b" }, /exactly one of/],
  [{ image: "a", timeoutMs: 0 }, /timeoutMs must be .*, got 0/],
  [{ image: "a", timeoutMs: 2 ** 31 }, /timeoutMs must be/],
  [{ image: "a", env: { "A=B": "c" } }, /"A=B"/],
  [{ image: "a", env: { A: 1 } }, /"A"/],
  [{ image: "a", retries: 3 }, /"retries"/],
])("%j is rejected", async (spec, message) => {
  const starting = startEnvironment("test", spec as StartSpec, async () => quiet(NOBODY));
  await expect(starting).rejects.toThrow(message);
  await expect(starting).rejects.toBeInstanceOf(ConfigError);
});
