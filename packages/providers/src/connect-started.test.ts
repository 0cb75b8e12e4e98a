import { connectStarted, processProvider, type StartedServer } from "@openenv-ts/providers";
import { connect, connectVector } from "openenv-ts/client";
import { beforeAll, expect, test } from "vitest";
import { counterModule, createProject, type Project } from "../../../test-support/commands/command-line.js";
import { speedUpTimers } from "../../../test-support/fast-timers.js";
import { useServers } from "../../../test-support/servers/servers.js";

/** An action of 9 ends the process. */
const ENDS = counterModule("(amount === 9 ? process.exit(7) : amount)");
const WHY = /The session was lost: .* Its server has ended \(process: The process exited with code 7\)\.$/;
const { start } = useServers();

let project: Project;
beforeAll(async () => {
  project = await createProject({ "environment.ts": ENDS });
  return () => project[Symbol.asyncDispose]();
}, 60_000);

test("calls and resets of a session whose server has ended say why it ended", async () => {
  await using env = await connectStarted(await processProvider().start({ directory: project.dir }), undefined, {});
  await env.reset();
  const lost = { code: "SESSION_LOST", message: expect.stringMatching(WHY) };
  await expect(env.step({ amount: 9 })).rejects.toMatchObject(lost);
  await expect(env.step({ amount: 1 })).rejects.toMatchObject(lost);
  expect(await env.tryStep({ amount: 1 })).toMatchObject({ outcome: "lost", error: lost });
  const message = expect.stringMatching(/\(process: The process exited with code 7\)\.$/);
  await expect(env.reset()).rejects.toMatchObject({ code: "CONNECTION_FAILED", message });
}, 60_000);

test("each lost result of a vector environment has the reason of its own server, and the others continue", async () => {
  const options = { size: 2, servers: 2, start: { directory: project.dir } };
  await using envs = await connectVector(processProvider(), options);
  await envs.reset();
  const [first, second] = await envs.step([{ amount: 9 }, { amount: 1 }]);
  expect(first).toMatchObject({
    outcome: "lost",
    error: { code: "SESSION_LOST", message: expect.stringContaining("(process: The process exited with code 7)") },
  });
  expect(second).toMatchObject({ outcome: "ok", observation: { count: 1 } });
  expect((await envs.reset()).map((result) => result?.outcome)).toEqual(["ok", "ok"]);
}, 60_000);

test("a client without a provider gets the error of the session, and the started server has the reason", async () => {
  await using server = await processProvider().start({ directory: project.dir });
  await using env = await connect(server.url);
  await env.reset();
  await expect(env.step({ amount: 9 })).rejects.toMatchObject({
    code: "SESSION_LOST",
    message: expect.not.stringContaining("process:"),
  });
  await expect(server.ended?.(new AbortController().signal)).resolves.toBe("process: The process exited with code 7");
}, 60_000);

/** A server of which it is never told that it has ended, and who has asked for that. */
async function startWatched() {
  const server = await start();
  const close = () => server.close();
  const watched: AbortSignal[] = [];
  const ended = (signal: AbortSignal): Promise<string> => {
    watched.push(signal);
    return new Promise(() => {});
  };
  const started: StartedServer = { url: server.url, logs: async () => "", ended, close, [Symbol.asyncDispose]: close };
  return { server, watched, env: await connectStarted(started, undefined, {}) };
}

test("a session that is lost while its address still answers does not blame the server", async () => {
  const { env, watched } = await startWatched();
  await env.reset();
  await expect(env.step({ amount: 60 }, { timeoutMs: 50 })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
  const lost = { code: "SESSION_LOST", message: expect.not.stringContaining("Its server has ended") };
  await expect(env.step({ amount: 1 })).rejects.toMatchObject(lost);
  expect(watched.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await env.reset()).toMatchObject({ observation: { count: 0 } });
  await env.close();
}, 60_000);

test("a call on a session whose server no longer answers fails within its limit, and the watching ends", async () => {
  const { server, env, watched } = await startWatched();
  await env.reset();
  await server.close();
  await expect.poll(() => env.sessionLost).toBe(true);
  speedUpTimers(10);
  const lost = { code: "SESSION_LOST", message: expect.not.stringContaining("Its server has ended") };
  const calls = [1, 2, 3].map((amount) => env.step({ amount }, { timeoutMs: 3_000 }));
  await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject(lost)));
  // All of them ask once.
  expect(watched).toHaveLength(1);
  await expect.poll(() => watched[0]?.aborted).toBe(true);
  await env.close();
}, 60_000);
