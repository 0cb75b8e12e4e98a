import { once } from "node:events";
import { connect } from "node:net";
import { defineContract, defineEnvironment, image } from "openenv-ts";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { counterContract, defineCounter } from "../../../../test-support/environments/counter.js";
import { defineDesk } from "../../../../test-support/environments/tool-environment.js";
import { tasked } from "../../../../test-support/environments/words.js";
import { speedUpTimers } from "../../../../test-support/fast-timers.js";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();

async function start(environment: unknown = defineCounter().environment, options = {}) {
  const server = await servers.start(options, { environment: environment as never });
  return { server, ors: orsClient(server.url) };
}

describe("a reset", () => {
  const contract = defineContract({
    name: "slow_env",
    action: z.object({}),
    observation: z.object({ text: z.string() }),
  });
  /** A session whose reset ends with `finish`. */
  const openSlow = async () => {
    let finish = (): void => {};
    const { ors } = await start(
      defineEnvironment(contract, () => ({
        reset: () =>
          new Promise<{ observation: { text: string } }>((resolve) => {
            finish = () => resolve({ observation: { text: "ready" } });
          }),
        step: () => ({ observation: { text: "stepped" } }),
      })),
    );
    return { ors, id: await ors.open(), finish: () => finish() };
  };

  test("runs in the background, and the prompt waits for it", async () => {
    const { ors, id, finish } = await openSlow();
    expect((await ors.request("GET", "/slow_env/task_tools", { id })).status).toBe(200);
    const prompt = ors.request("GET", "/slow_env/prompt", { id });
    const call = ors.call(id, "step");
    await new Promise((resolve) => setTimeout(resolve, 50));
    finish();
    expect((await prompt).json).toEqual([{ type: "text", text: "ready" }]);
    expect((await call).result).toMatchObject({ ok: true });
  });

  test("that takes longer than 25 s is 503 with the state for which the client waits", async () => {
    const { ors, id, finish } = await openSlow();
    speedUpTimers(100);
    const waited = await Promise.all([ors.request("GET", "/slow_env/prompt", { id }), ors.call(id, "step")]);
    for (const { status, headers } of waited) {
      const state = [status, headers.get("x-backend-state"), headers.get("retry-after")];
      expect(state).toEqual([503, "starting", "2"]);
    }
    expect((await ors.request("POST", "/ping", { id })).status).toBe(200);
    finish();
    expect((await ors.request("GET", "/slow_env/prompt", { id })).status).toBe(200);
  });

  test("that fails is a failure of the prompt and of every call, not a result", async () => {
    const { ors } = await start(
      defineEnvironment(contract, () => ({
        reset: () => {
          throw new Error("no sandbox");
        },
        step: () => ({ observation: { text: "stepped" } }),
      })),
    );
    const id = await ors.open();
    const prompt = await ors.request("GET", "/slow_env/prompt", { id });
    expect([prompt.status, prompt.json]).toMatchObject([500, { detail: "no sandbox" }]);
    expect((await ors.call(id, "step")).status).toBe(500);
  });
});

describe("a call", () => {
  test("that cannot be made says why, and is no step", async () => {
    const { server, ors } = await start(defineDesk().environment);
    const id = await ors.open();
    expect((await ors.call(id, "nothing")).result).toMatchObject({ ok: false, reason: "not_found" });
    expect((await ors.call(id, "add", { a: "x" })).result).toMatchObject({ ok: false, reason: "input_validation" });
    const [session] = await server.sessions();
    expect(session?.step_count).toBe(0);
    expect((await ors.call(id, "add", { a: 1 })).result).toMatchObject({
      output: { blocks: [{ text: "2" }], reward: 0, finished: false },
    });
  });

  test("that fails in the environment is an error, never a result", async () => {
    const desk = await start(defineDesk().environment);
    const id = await desk.ors.open();
    for (const name of ["unreachable", "wrong", "late", "nest"]) {
      const { events, error } = await desk.ors.call(id, name);
      expect([name, events.map(({ event }) => event)]).toEqual([name, ["task_id", "error"]]);
      expect(error).not.toBe("");
    }
    expect((await desk.ors.call(id, "fail", { why: "two\n  lines" })).error).toContain("two lines");
    const counter = await start();
    expect((await counter.ors.call(await counter.ors.open(), "step", { amount: 13 })).error).toBe(
      "unlucky amount (fault: environment)",
    );
  });

  test("with other fields or without a name is 422", async () => {
    const { ors } = await start();
    const id = await ors.open();
    const call = async (body: unknown) => (await ors.request("POST", "/counter_env/call", { id, body })).status;
    expect(await call({ name: "step", input: { amount: 1 }, more: 1 })).toBe(422);
    expect(await call({ input: {} })).toBe(422);
    expect(await call({ name: "step", input: [] })).toBe(422);
    expect(await call("{")).toBe(422);
  });

  test("is streamed in chunks that the client puts together unchanged", async () => {
    const { ors } = await start(tasked());
    const id = await ors.open();
    const said = [
      " ".repeat(9000),
      "\u00a0\u3000\u0085 \u2028".repeat(3000),
      `${"\\".repeat(5001)} x`,
      "🙂".repeat(5000),
    ];
    for (const say of [...said, `a${"🙂 ".repeat(4000)}`]) {
      const { result, events } = await ors.call(id, "step", { say });
      expect((result as { output: { blocks: { text: string }[] } }).output.blocks[0]?.text).toBe(say.repeat(2));
      expect(events.length).toBeGreaterThan(2);
      for (const { data } of events) expect(data.length).toBeLessThanOrEqual(4096);
    }
  });

  test("that takes long sends a comment every 10 s", async () => {
    const { server, ors } = await start();
    const id = await ors.open();
    await ors.request("GET", "/counter_env/prompt", { id });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const response = await fetch(`${server.url}/counter_env/call`, {
      method: "POST",
      headers: { "x-session-id": id, "content-type": "application/json" },
      // Answers when its session ends.
      body: JSON.stringify({ name: "step", input: { amount: 60 } }),
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const read = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
    expect(await read()).toMatch(/^event: task_id\ndata: \S+\n\n$/);
    for (let n = 0; n < 2; n++) {
      vi.advanceTimersByTime(10_000);
      expect(await read()).toBe(": ping\n\n");
    }
    await ors.request("POST", "/delete", { id });
    expect(await read()).toMatch(/^event: error\ndata: /);
  });

  test("with the id of an earlier one begins its stream again, and is not made again", async () => {
    const { server, ors } = await start();
    const id = await ors.open();
    const first = await ors.call(id, "step", { amount: 2 });
    const again = await ors.call(id, "step", { amount: 2 }, { task_id: first.taskId });
    expect(again.text).toBe(first.text);
    expect((await server.sessions())[0]?.step_count).toBe(1);
    expect((await ors.call(id, "step", { amount: 2 }, { task_id: "unknown" })).error).toBe("unknown task_id");
    expect((await ors.call(id, "step", { amount: 3 }, { task_id: first.taskId })).error).toMatch(/another request/);
  });

  test("continues after its stream was cut, and its client comes back to it", async () => {
    const { server, ors } = await start();
    const id = await ors.open();
    const abort = new AbortController();
    const response = await fetch(`${server.url}/counter_env/call`, {
      method: "POST",
      headers: { "x-session-id": id, "content-type": "application/json" },
      body: JSON.stringify({ name: "step", input: { amount: 50 } }),
      signal: abort.signal,
    });
    const { value } = (await response.body?.getReader().read()) ?? {};
    const task_id = /data: (\S+)/.exec(new TextDecoder().decode(value))?.[1];
    abort.abort();
    const { result } = await ors.call(id, "step", { amount: 50 }, { task_id });
    expect(result).toMatchObject({ ok: true, output: { reward: 50, finished: true } });
    expect((await server.sessions())[0]?.step_count).toBe(1);
  });

  test("that was cut before its id arrived is made once when its client sends it again", async () => {
    let finish = (): void => {};
    const { server, ors } = await start(
      defineEnvironment(counterContract, () => {
        let count = 0;
        return {
          reset: () => ({ observation: { count } }),
          step: async ({ amount }) => {
            if (count === 0) await new Promise<void>((resolve) => (finish = resolve));
            return { observation: { count: (count += amount) }, reward: amount };
          },
        };
      }),
    );
    const id = await ors.open();
    await ors.request("GET", "/counter_env/prompt", { id });
    const steps = async () => (await server.sessions())[0]?.step_count;
    const { hostname, port } = new URL(server.url);
    const body = JSON.stringify({ name: "step", input: { amount: 1 } });
    const head = `POST /counter_env/call HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\nx-session-id: ${id}\r\ncontent-length: ${body.length}`;
    const socket = connect(Number(port), hostname);
    socket.write(`${head}\r\n\r\n${body}`);
    await once(socket, "data");
    socket.resetAndDestroy();
    // The server reads the end of the connection before the next request.
    await ors.request("GET", "/version");
    const again = ors.call(id, "step", { amount: 1 });
    finish();
    expect((await again).result).toMatchObject({ output: { blocks: [{ text: '{"count":1}' }] } });
    expect(await steps()).toBe(1);
    // Its answer has arrived, so the same call is another one.
    expect((await ors.call(id, "step", { amount: 1 })).result).toMatchObject({ output: { reward: 1 } });
    expect(await steps()).toBe(2);
  });

  test("has the images of an observation as blocks", async () => {
    const contract = defineContract({
      name: "eye_env",
      action: z.object({}),
      observation: z.object({ seen: image() }),
    });
    const seen = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);
    const { ors } = await start(
      defineEnvironment(contract, () => ({
        reset: () => ({ observation: { seen } }),
        step: () => ({ observation: { seen } }),
      })),
    );
    const id = await ors.open();
    const blocks = [
      { type: "text", text: '{"seen":"image 1"}' },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    ];
    expect((await ors.request("GET", "/eye_env/prompt", { id })).json).toEqual(blocks);
    expect((await ors.call(id, "step")).result).toMatchObject({ output: { blocks } });
  });
});
