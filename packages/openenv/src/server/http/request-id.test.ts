import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { startCluster } from "../../../../../test-support/servers/cluster.js";
import { useServers, waitFor } from "../../../../../test-support/servers/servers.js";
import { defineContract, defineEnvironment } from "../../index.js";
import { SESSION_HEADER } from "../../protocol/http.js";

// Starting a process takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 120_000 });

const servers = useServers();
const step = (amount: number, request_id?: string | number) => ({ action: { amount }, request_id });

interface Answer {
  status: number;
  body: Record<string, unknown>;
  session: string;
}

function client(url: string, session?: string) {
  const post = async (path: string, body: object, signal: AbortSignal | null = null): Promise<Answer> => {
    const named = session === undefined ? {} : { [SESSION_HEADER]: session };
    const headers = { "content-type": "application/json", ...named };
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body), signal });
    const name = response.headers.get(SESSION_HEADER) ?? "";
    return { status: response.status, body: (await response.json()) as Answer["body"], session: name };
  };
  return post;
}

async function openSession(url: string) {
  return client(url, (await client(url)("/reset", {})).session);
}

const count = ({ body }: Answer) => (body["observation"] as { count: number }).count;

describe("a request with a request_id in a named session", () => {
  test("is executed once, and its repeats get the same answer, errors too", async () => {
    const server = await servers.start();
    const post = await openSession(server.url);
    const first = await post("/step", step(2, "a"));
    expect(await post("/step", step(2, "a"))).toEqual(first);
    const failed = await post("/step", step(13, "b"));
    expect(failed).toMatchObject({ status: 500, body: { code: "EXECUTION_ERROR" } });
    expect(await post("/step", step(13, "b"))).toEqual(failed);
    expect(count(await post("/step", step(1, "c")))).toBe(3);
    const reset = await post("/reset", { start: 7, request_id: "d" });
    expect(count(reset)).toBe(7);
    await post("/step", step(1, "e"));
    expect(await post("/reset", { request_id: "d", start: 7 })).toEqual(reset);
    expect(count(await post("/step", step(1)))).toBe(9);
  });

  test("that differs from the earlier one is 409, and is not executed", async () => {
    const server = await servers.start();
    const post = await openSession(server.url);
    await post("/step", step(2, "a"));
    const refused = await post("/step", step(3, "a"));
    expect(refused).toMatchObject({ status: 409, body: { code: "SEQUENCE_CONFLICT" } });
    expect(refused.body["detail"]).toContain('request_id "a" was another request');
    expect((await post("/reset", { request_id: "a" })).status).toBe(409);
    expect(count(await post("/step", step(1)))).toBe(3);
  });

  test("continues when its client disconnects, and the repeat waits for it", async () => {
    const counter = defineCounter();
    const server = await servers.start({}, counter);
    const post = await openSession(server.url);
    const leaving = new AbortController();
    const lost = post("/step", step(50, "a"), leaving.signal).catch((error: Error) => error.name);
    await waitFor(() => counter.log.begun === 1);
    leaving.abort();
    expect(await lost).toBe("AbortError");
    const repeats = await Promise.all([post("/step", step(50, "a")), post("/step", step(50, "a"))]);
    expect(repeats.map(count)).toEqual([50, 50]);
    expect(counter.log).toMatchObject({ begun: 1, aborted: 0 });
  });

  test("is remembered for the last 64 requests, in bounded memory", async () => {
    const server = await servers.start({ resumeAnswers: 2 });
    const post = await openSession(server.url);
    for (const id of ["a", "b", "c"]) await post("/step", step(1, id));
    expect(count(await post("/step", step(1, "b")))).toBe(2);
    expect(count(await post("/step", step(1, "a")))).toBe(4);
  });

  test("has an id of at most 255 characters; without a session nothing is stored", async () => {
    const server = await servers.start();
    const post = await openSession(server.url);
    for (const request_id of [7, "x".repeat(256)]) {
      const detail = [{ loc: ["body", "request_id"] }];
      expect(await post("/reset", { request_id })).toMatchObject({ status: 422, body: { detail } });
    }
    const stock = client(server.url, "none");
    expect(count(await stock("/step", step(1, "a")))).toBe(1);
    expect(count(await stock("/step", step(2, "a")))).toBe(2);
  });

  test("leaves a reset option of that name to the environment", async () => {
    const contract = defineContract({
      name: "named_env",
      action: z.object({}),
      observation: z.object({ seen: z.string() }),
      reset: z.object({ request_id: z.string().default("none") }),
    });
    const environment = defineEnvironment(contract, () => ({
      reset: ({ request_id }) => ({ observation: { seen: request_id } }),
      step: () => ({ observation: { seen: "" } }),
    }));
    const server = await servers.start({}, { environment });
    const post = await openSession(server.url);
    expect(await post("/reset", { request_id: "mine" })).toMatchObject({ body: { observation: { seen: "mine" } } });
  });

  test("is executed once with several workers", async () => {
    await using server = await startCluster({ WORKERS: "2" });
    const post = await openSession(server.url);
    const first = await post("/step", step(2, "a"));
    for (let i = 0; i < 6; i++) expect(await post("/step", step(2, "a"))).toEqual(first);
  });
});
