/** `/session/<name>/retry`: for clients with retries of their own, an equal step gets the answer that was not sent. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defineEnvironment } from "#core/index.js";
import type { RunningServer, ServeOptions } from "#core/server/types.js";
import { counterContract } from "../../../../test-support/environments/counter.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import type { TestSocket } from "../../../../test-support/sockets/socket.js";

const { start, open } = useServers();
const RESET = { type: "reset", data: {} };
const step = (amount: number) => ({ type: "step", data: { amount } });
const PLAIN = "/session/run-7_worker-3_5f1c9a";
const RETRY = `${PLAIN}/retry`;

/** A counter whose steps end when the test says so. */
async function startGated(options: ServeOptions = {}) {
  const steps = { begun: 0, go: (): void => {} };
  const environment = defineEnvironment(counterContract, () => {
    let count = 0;
    return {
      reset: () => ({ observation: { count: (count = 0) } }),
      step: async ({ amount }) => {
        steps.begun++;
        await new Promise<void>((resolve) => {
          steps.go = resolve;
        });
        return { observation: { count: (count += amount) } };
      },
      snapshot: () => count,
      restore: (saved) => {
        count = saved as number;
      },
    };
  });
  const server = await start(options, { environment });
  /** Sends a step, and ends it. */
  const play = async (socket: TestSocket, amount: number): Promise<unknown> => {
    const before = steps.begun;
    socket.send(step(amount));
    await expect.poll(() => steps.begun).toBe(before + 1);
    steps.go();
    return countOf(await socket.receive());
  };
  return { server, steps, play };
}

const countOf = (answer: object) => (answer as { data: { observation?: { count: number } } }).data.observation?.count;

const untilDetached = (server: RunningServer) =>
  expect.poll(async () => (await server.sessions())[0]?.attached).toBe(false);

/** A connection that is lost during its step of 2. */
async function loseStep({ server, steps }: Awaited<ReturnType<typeof startGated>>, base: string): Promise<void> {
  const socket = await open(server, `${base}/ws`);
  await socket.ask(RESET);
  socket.send(step(2));
  await expect.poll(() => steps.begun).toBe(1);
  socket.ws.terminate();
  await untilDetached(server);
}

test("an equal step as the first frame gets the answer, whether its step has ended or still runs", async () => {
  for (const stillRuns of [true, false]) {
    const gated = await startGated();
    const { server, steps, play } = gated;
    await loseStep(gated, RETRY);
    if (!stillRuns) steps.go();
    const next = await open(server, `${RETRY}/ws`);
    next.send(step(2));
    if (stillRuns) await untilAttached(server);
    steps.go();
    expect(countOf(await next.receive())).toBe(2);
    expect(steps.begun).toBe(1);
    // The next equal step is another one.
    expect(await play(next, 2)).toBe(4);
    next.ws.terminate();
    await untilDetached(server);
    expect(await play(await open(server, `${RETRY}/ws`), 2)).toBe(6);
  }
});

const untilAttached = (server: RunningServer) =>
  expect.poll(async () => (await server.sessions())[0]?.attached).toBe(true);

test("another step, or another frame before the equal one, says that the client does not repeat it", async () => {
  const gated = await startGated();
  const { server, steps, play } = gated;
  await loseStep(gated, RETRY);
  steps.go();
  const next = await open(server, `${RETRY}/ws`);
  expect(await play(next, 3)).toBe(5);
  expect(await play(next, 2)).toBe(7);
  next.send(step(1));
  await expect.poll(() => steps.begun).toBe(4);
  next.ws.terminate();
  await untilDetached(server);
  steps.go();
  const last = await open(server, `${RETRY}/ws`);
  expect(await last.ask({ type: "state" })).toMatchObject({ data: { step_count: 4 } });
  expect(await play(last, 1)).toBe(9);
});

test("without it, and after an answer that was sent, equal steps are two steps", async () => {
  const gated = await startGated();
  const { server, steps, play } = gated;
  await loseStep(gated, PLAIN);
  steps.go();
  const next = await open(server, `${PLAIN}/ws`);
  expect(await play(next, 2)).toBe(4);
  next.ws.terminate();
  await untilDetached(server);
  expect(await play(await open(server, `${RETRY}/ws`), 2)).toBe(6);
});

test("a restart with a journal does not change that", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openenv-retry-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const journal = join(folder, "sessions.db");
  const gated = await startGated({ journal });
  await loseStep(gated, RETRY);
  gated.steps.go();
  await expect.poll(async () => (await gated.server.sessions())[0]?.step_count).toBe(1);
  await gated.server.close();
  const { server, steps, play } = await startGated({ journal });
  const next = await open(server, `${RETRY}/ws`);
  expect(countOf(await next.ask(step(2)))).toBe(2);
  expect(steps.begun).toBe(0);
  expect(await play(next, 2)).toBe(4);
  next.ws.terminate();
  await untilDetached(server);
  await server.close();
  const last = await startGated({ journal });
  expect(await last.play(await open(last.server, `${RETRY}/ws`), 2)).toBe(6);
});

test("over HTTP an equal step gets the answer of a request whose client has left", async () => {
  const { server, steps } = await startGated();
  const post = (path: string, body: object, signal: AbortSignal | null = null) =>
    fetch(`${server.url}${RETRY}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  await post("/reset", {});
  const leaving = new AbortController();
  const left = post("/step", { action: { amount: 2 } }, leaving.signal).catch(() => "left");
  await expect.poll(() => steps.begun).toBe(1);
  leaving.abort();
  expect(await left).toBe("left");
  // The server notices the end of a connection with its next events.
  await fetch(`${server.url}/health`);
  const again = post("/step", { action: { amount: 2 } });
  steps.go();
  expect(await (await again).json()).toMatchObject({ observation: { count: 2 } });
  expect(steps.begun).toBe(1);
  const another = post("/step", { action: { amount: 2 } });
  await expect.poll(() => steps.begun).toBe(2);
  steps.go();
  expect(await (await another).json()).toMatchObject({ observation: { count: 4 } });
});

test("a path below it is one of a session", async () => {
  const server = await start();
  expect((await fetch(`${server.url}${RETRY}/health`)).status).toBe(200);
  expect((await fetch(`${server.url}${RETRY}/nothing`)).status).toBe(404);
  expect((await fetch(`${server.url}${RETRY}/retry/health`)).status).toBe(404);
});
