import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { findFreePort } from "../../../../test-support/free-port.js";
import {
  COMMAND,
  createFleets,
  createFolder,
  health,
  isRunning,
  NEVER,
  serveHealth,
} from "../../../../test-support/upstreams/fleets.js";

const start = createFleets();

test("processes are started, each has its sessions, and nothing is left", async () => {
  const { fleet } = await start({ command: COMMAND, processes: 2, sessionsPerUpstream: 2 });
  await expect.poll(() => fleet.capacity()).toBe(4);
  const places = await Promise.all([1, 2, 3, 4].map(() => fleet.take(NEVER)));
  expect(places.map(({ upstream }) => upstream.name).sort()).toEqual([
    "process 1",
    "process 1",
    "process 2",
    "process 2",
  ]);
  const { pid, variables } = await health(places[0]?.upstream.url ?? "");
  expect(variables).toMatchObject({ HOST: "127.0.0.1", PORT: new URL(places[0]?.upstream.url ?? "").port });
  const fifth = fleet.take(NEVER);
  places[2]?.[Symbol.dispose]();
  expect((await fifth).upstream).toEqual(places[2]?.upstream);
  const aborted = new AbortController();
  const never = fleet.take(aborted.signal);
  aborted.abort(new Error("the client has left"));
  await expect(never).rejects.toThrow("the client has left");
  await fleet[Symbol.asyncDispose]();
  expect(isRunning(pid)).toBe(false);
  expect(await places[0]?.ended).toMatch(/^process \d ended with the server in front of it$/);
  await expect(fleet.take(NEVER)).rejects.toThrow("are closed");
});

test("a process that dies costs its sessions, and is replaced", async () => {
  const { fleet, lines } = await start({ command: COMMAND, processes: 2 });
  await expect.poll(() => fleet.capacity()).toBe(2);
  const changes: number[] = [];
  fleet.onChange(() => changes.push(fleet.capacity()));
  using first = await fleet.take(NEVER);
  using second = await fleet.take(NEVER);
  const { pid } = await health(first.upstream.url);
  process.kill(pid, "SIGKILL");
  expect(await first.ended).toBe("process 1 ended with signal 9");
  await expect.poll(() => changes).toEqual([1, 2]);
  using again = await fleet.take(NEVER);
  expect(again.upstream.name).toBe("process 1");
  expect((await health(again.upstream.url)).pid).not.toBe(pid);
  await fetch(`${second.upstream.url}/exit`);
  expect(await second.ended).toBe("process 2 ended with code 1: the last line");
  const loss = { upstream: "process 2", message: "an upstream has ended" };
  await expect.poll(() => lines).toContainEqual(expect.objectContaining(loss));
  expect(
    lines.find(({ upstream, message }) => upstream === "process 2" && message === loss.message)?.["lines"],
  ).toEqual([expect.stringMatching(/^listens at \d+$/), "the last line"]);
});

test("the start of a fleet fails with the last lines when no process answers", async () => {
  const exits = start({ command: `${COMMAND} exits`, processes: 3, startsAtOnce: 2 });
  await expect(exits).rejects.toMatchObject({
    code: "START_FAILED",
    message: expect.stringMatching(/exited with code 3 before it answered GET \/health[\s\S]*no model file/),
  });
  const silent = start({ command: `${COMMAND} silent`, startTimeoutMs: 5_000 });
  await expect(silent).rejects.toMatchObject({
    code: "START_TIMEOUT",
    message: expect.stringMatching(
      /at HOST and PORT of its environment \(GET \/health failed: ECONNREFUSED\)[\s\S]*listens/,
    ),
  });
  await expect(start({ command: "no-such-program --port $PORT" })).rejects.toThrow(/Check the program and the PATH/);
  const aborted = new AbortController();
  const never = start({ command: `${COMMAND} silent`, signal: aborted.signal });
  aborted.abort(new Error("Ctrl-C"));
  await expect(never).rejects.toThrow("Ctrl-C");
});

test("a process that does not start again is tried with growing delays", async () => {
  const { fleet, lines } = await start({ command: `${COMMAND} once "${join(await createFolder(), "started")}"` });
  using place = await fleet.take(NEVER);
  await fetch(`${place.upstream.url}/exit`);
  await place.ended;
  await expect.poll(() => fleet.upstreams[0], { timeout: 20_000 }).toMatchObject({ state: "waiting", restarts: 2 });
  expect(fleet.capacity()).toBe(0);
  expect(lines).toContainEqual(
    expect.objectContaining({ message: "an upstream did not start", upstream: "process 1" }),
  );
});

test("a process that hangs is found by pings, killed and replaced", async () => {
  const { fleet } = await start({ command: COMMAND, pingIntervalMs: 300 });
  using place = await fleet.take(NEVER);
  const { pid } = await health(place.upstream.url);
  process.kill(pid, "SIGSTOP");
  expect(await place.ended).toBe("process 1 did not answer for 0.9 s (GET /health was not answered)");
  using next = await fleet.take(NEVER);
  expect((await health(next.upstream.url)).pid).not.toBe(pid);
  await expect.poll(() => isRunning(pid)).toBe(false);
});

test("a process is replaced after some episodes, when its session has ended", async () => {
  const { fleet } = await start({ command: COMMAND, replaceAfterEpisodes: 2 });
  const first = await fleet.take(NEVER);
  const { pid } = await health(first.upstream.url);
  first.countEpisode();
  first.countEpisode();
  // The next process is ready before the session of this one has ended.
  await expect.poll(() => fleet.upstreams).toMatchObject([{ state: "ready", sessions: 1, episodes: 2, restarts: 1 }]);
  expect((await health(first.upstream.url)).pid).toBe(pid);
  const second = fleet.take(NEVER);
  first[Symbol.dispose]();
  expect((await health((await second).upstream.url)).pid).not.toBe(pid);
  await expect.poll(() => isRunning(pid)).toBe(false);
});

test.runIf(process.platform === "linux")(
  "a process with too much memory is replaced, when its session has ended",
  async () => {
    const { fleet, lines } = await start({ command: COMMAND, replaceAboveMb: 200, pingIntervalMs: 1_000 });
    const place = await fleet.take(NEVER);
    const { pid } = await health(place.upstream.url);
    await expect.poll(() => fleet.upstreams[0]?.memoryBytes).toBeGreaterThan(10_000_000);
    await fetch(`${place.upstream.url}/leak`);
    await expect.poll(() => fleet.upstreams[0]).toMatchObject({ restarts: 1 });
    expect(isRunning(pid)).toBe(true);
    place[Symbol.dispose]();
    await expect.poll(() => isRunning(pid)).toBe(false);
    expect(lines).toContainEqual(expect.objectContaining({ reason: expect.stringMatching(/it used \d{3} MiB/) }));
  },
);

test("a URL that does not answer is tried again until it is back", async () => {
  const one = await serveHealth(String(await findFreePort()));
  const two = await serveHealth();
  const { fleet } = await start({ urls: [one.url, `${two.url}/`], pingIntervalMs: 200 });
  await expect.poll(() => fleet.capacity()).toBe(2);
  const places = [await fleet.take(NEVER), await fleet.take(NEVER)];
  expect(places.map(({ upstream }) => upstream.url)).toEqual([one.url, two.url]);
  await one.close();
  expect(await places[0]?.ended).toBe(`${one.url} did not answer for 0.6 s (GET /health failed: ECONNREFUSED)`);
  expect(fleet.capacity()).toBe(1);
  await serveHealth(new URL(one.url).port);
  expect((await fleet.take(NEVER)).upstream.url).toBe(one.url);
  await expect(start({ urls: ["http://127.0.0.1:1"], startTimeoutMs: 300 })).rejects.toThrow(
    "http://127.0.0.1:1 did not answer within 300 ms (GET /health failed: bad port). Start it, or check the URL.",
  );
});

test("a file with URLs is watched: a new one is used, a removed one keeps its sessions", async () => {
  const [one, two] = [await serveHealth(), await serveHealth()];
  const file = join(await createFolder(), "upstreams");
  await writeFile(file, `# upstreams\n${one.url} # the first\n\n`);
  const { fleet, lines } = await start({ file });
  const place = await fleet.take(NEVER);
  await writeFile(file, two.url);
  const second = await fleet.take(NEVER);
  expect(second.upstream.url).toBe(two.url);
  expect(fleet.upstreams).toMatchObject([
    { name: one.url, state: "draining", sessions: 1 },
    { name: two.url, state: "ready", sessions: 1 },
  ]);
  // It is back before its session has ended: it has room for no other.
  await writeFile(file, `${one.url}\n${two.url}`);
  await expect.poll(() => fleet.upstreams[0]).toMatchObject({ name: one.url, state: "ready", sessions: 1 });
  expect(fleet.capacity()).toBe(2);
  await writeFile(file, "not a URL");
  await vi.waitFor(() => expect(lines).toContainEqual(expect.objectContaining({ file })), 10_000);
  expect(fleet.capacity()).toBe(2);
  await writeFile(file, two.url);
  await expect.poll(() => fleet.upstreams[0]).toMatchObject({ state: "draining" });
  place[Symbol.dispose]();
  expect(fleet.upstreams).toMatchObject([{ name: two.url }]);
});

test("a list without a URL is refused", async () => {
  const file = join(await createFolder(), "upstreams");
  await writeFile(file, "# none yet\n");
  await expect(start({ file })).rejects.toThrow("has no URL");
  await writeFile(file, "\nhttp://a/?token=1");
  await expect(start({ file })).rejects.toThrow(/upstreams:2: "http:\/\/a\/\?token=1" is not the URL of an upstream/);
});

test.each([
  [{}, "There is no upstream"],
  [{ command: "a", urls: ["http://a"] }, "not both"],
  [{ command: '"a' }, "not closed"],
  [{ command: " " }, "command must be a program"],
  [{ command: "a", processes: 0 }, "processes must be a positive integer, got 0"],
  [{ command: "a", memoryLimitMb: Number.NaN }, "memoryLimitMb must be a positive integer"],
  [{ urls: ["http://a"], replaceAboveMb: 5 }, "replaceAboveMb is for a command"],
  [{ urls: ["http://name:secret@host"] }, '"http://…@host" is not the URL'],
  [{ urls: ["python -m my_env"] }, "Use http://host:port"],
  [{ file: "/no/such/file" }, "Cannot read the list of upstreams /no/such/file"],
])("bad options: %j", async (options, message) => {
  await expect(start(options)).rejects.toMatchObject({
    code: "INVALID_CONFIG",
    message: expect.stringContaining(message),
  });
});

test("an upstream that has lost a session gets no more until it has answered a ping", async () => {
  const one = await serveHealth();
  const { fleet } = await start({ urls: [one.url], pingIntervalMs: 60_000 });
  const place = await fleet.take(NEVER);
  place.suspect();
  place[Symbol.dispose]();
  using second = await fleet.take(NEVER);
  await one.close();
  second.suspect();
  expect(await second.ended).toBe(`${one.url} does not answer (GET /health failed: ECONNREFUSED)`);
});
