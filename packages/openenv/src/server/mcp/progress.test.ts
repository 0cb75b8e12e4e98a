import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { initialize, rpc, send, useMcp } from "../../../../../test-support/environments/mcp.js";
import { speedUpIntervals } from "../../../../../test-support/fast-timers.js";
import { defineContract, defineEnvironment, defineTools } from "../../index.js";
import { serve } from "../../serve.js";

const { open } = useMcp();
const CALL = {
  ...rpc,
  id: 7,
  method: "tools/call",
  params: { name: "dig", arguments: {}, _meta: { progressToken: "t" } },
};

/** A tool that answers when the test lets it. Intervals of 10 s pass in 20 ms. */
async function startDig() {
  speedUpIntervals(500);
  let finish = (): void => {};
  const gate = new Promise<void>((resolve) => (finish = resolve));
  const contract = defineContract({
    name: "dig_env",
    tools: defineTools({ dig: { description: "Digs.", output: z.int() } }),
  });
  const environment = defineEnvironment(contract, () => ({
    reset: () => ({ observation: {} }),
    tools: { dig: () => gate.then(() => 42) },
  }));
  const server = await serve(environment, { port: 0, logLevel: "silent", graceMs: 100 });
  onTestFinished(() => server.close());
  return { server, finish };
}

/** The messages of an event stream, as they arrive. */
async function* readEvents(response: Response): AsyncGenerator<Record<string, unknown>> {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      yield JSON.parse(event.slice(event.indexOf("data: ") + 6)) as Record<string, unknown>;
    }
  }
}

describe("a long call that asks for progress", () => {
  test("gets its headers at once, then progress, then its answer", async () => {
    const { server, finish } = await startDig();
    const session = await initialize(server.url);
    const response = await send(server.url, CALL, session);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(response.headers.get("mcp-session-id")).toBe(session["mcp-session-id"]);
    const events = readEvents(response);
    for (const progress of [10, 20]) {
      expect((await events.next()).value).toEqual({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: "t", progress },
      });
    }
    finish();
    let last: Record<string, unknown> = {};
    for await (const event of events) last = event;
    expect(last).toMatchObject({ id: 7, result: { structuredContent: { result: 42 } } });
  });

  test("is answered plainly for a client that accepts only JSON, or does not ask", async () => {
    const { server, finish } = await startDig();
    const session = await initialize(server.url);
    const plain = { ...CALL, params: { name: "dig", arguments: {} } };
    const waiting = [
      send(server.url, CALL, { ...session, accept: "application/json" }),
      send(server.url, { ...plain, id: 8 }, session),
    ];
    finish();
    for (const response of await Promise.all(waiting)) {
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toMatchObject({ result: { structuredContent: { result: 42 } } });
    }
  });

  test("ends with an error when its session ends, and with nothing when its client cancels it", async () => {
    const { server } = await startDig();
    const session = await initialize(server.url);
    const cancelled = readEvents(await send(server.url, CALL, session));
    await cancelled.next();
    const params = { requestId: CALL.id };
    await send(server.url, { jsonrpc: "2.0", method: "notifications/cancelled", params }, session);
    for await (const event of cancelled) expect(event).toMatchObject({ method: "notifications/progress" });
    const lost = readEvents(await send(server.url, { ...CALL, id: 9 }, session));
    await lost.next();
    await fetch(`${server.url}/mcp`, { method: "DELETE", headers: session });
    let last: Record<string, unknown> = {};
    for await (const event of lost) last = event;
    expect(last).toMatchObject({ id: 9, error: { code: -32000, message: expect.stringContaining("ended") } });
  });

  test.each([undefined, "newest"] as const)(
    "of the SDK's client receives them, in the revision %s",
    async (revision) => {
      const { server, finish } = await startDig();
      const { client } = await open(server, revision === undefined ? {} : { revision });
      const seen: number[] = [];
      const onprogress = ({ progress }: { progress: number }): void => {
        seen.push(progress);
        if (progress >= 20) finish();
      };
      const result = await client.callTool({ name: "dig" }, { onprogress, resetTimeoutOnProgress: true });
      expect(result.structuredContent).toEqual({ result: 42 });
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
      expect(seen.filter((progress) => progress > 0).slice(0, 2)).toEqual([10, 20]);
    },
  );
});
