import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { useServers, waitFor } from "../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { defineContract, defineEnvironment, type Environment } from "../index.js";
import { serve } from "../serve.js";

const contract = defineContract({
  name: "author_env",
  action: z.object({ say: z.string().default("") }),
  observation: z.object({ said: z.string().default("") }),
});
type Author = Environment<typeof contract>;

const well: Author = { reset: () => ({ observation: {} }), step: ({ say }) => ({ observation: { said: say } }) };
const define = (factory: () => Author | Promise<Author>) =>
  defineEnvironment(contract, factory, { stepBeforeReset: "allow" });

const { start, open } = useServers();
const startWith = (factory: () => Author | Promise<Author>, options: Parameters<typeof start>[0] = {}) =>
  start(options, { environment: define(factory) } as unknown as Parameters<typeof start>[1]);
const post = (url: string, path: string, headers: Record<string, string> = {}) =>
  fetch(url + path, { method: "POST", body: "{}", headers: { "content-type": "application/json", ...headers } });

describe("calls that wait for their turn", () => {
  test("are all answered, even if the calls before them answer at once", async () => {
    const server = await startWith(() => ({
      ...well,
      step: async ({ say }) => {
        if (say === "slow") await sleep(50);
        return { observation: { said: say } };
      },
    }));
    const id = (await post(server.url, "/reset")).headers.get("openenv-session") ?? "";
    const headers = { "openenv-session": id, "content-type": "application/json" };
    const step = (say: string) =>
      fetch(`${server.url}/step`, { method: "POST", headers, body: JSON.stringify({ action: { say } }) });
    const slow = step("slow");
    await sleep(10);
    const others = [fetch(`${server.url}/state`, { headers }), step("a"), fetch(`${server.url}/state`, { headers })];
    const answers = await Promise.all([slow, ...others]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await (await fetch(`${server.url}/state`, { headers })).json()).toMatchObject({ step_count: 2 });
  });
});

describe("a factory", () => {
  test("that never returns does not keep the slot of a client that has disconnected", async () => {
    const server = await startWith(() => new Promise<never>(() => {}), { maxConcurrentEnvs: 1 });
    const socket = await openTestSocket(`${server.url}/ws`);
    await waitFor(() => server.capacity().active_sessions === 1);
    socket.ws.terminate();
    await waitFor(() => server.capacity().active_sessions === 0);
  });

  test("that returns after the client has disconnected has its environment closed", async () => {
    let [made, closed] = [0, 0];
    let comeBack = (): void => {};
    const gate = new Promise<void>((resolve) => {
      comeBack = resolve;
    });
    const server = await startWith(async () => {
      made++;
      await gate;
      return { ...well, close: () => void closed++ };
    });
    const socket = await openTestSocket(`${server.url}/ws`);
    await waitFor(() => made === 1);
    socket.ws.terminate();
    await waitFor(() => server.capacity().active_sessions === 0);
    const controller = new AbortController();
    const request = fetch(`${server.url}/state`, { signal: controller.signal }).catch(() => {});
    await waitFor(() => made === 2);
    controller.abort();
    await request;
    comeBack();
    await waitFor(() => closed === 2);
  });

  test.each([
    ["nothing", () => undefined as unknown as Author, /reset\(\) is missing/],
    ["an environment without step", () => ({ reset: well.reset }) as Author, /step\(\) is missing/],
    [
      "an object whose properties throw",
      () => {
        throw Object.create(null);
      },
      /FACTORY|factory/,
    ],
  ])("that returns %s is FACTORY_ERROR, and its slot is free", async (_what, factory, message) => {
    const server = await startWith(factory, { maxConcurrentEnvs: 1 });
    for (let i = 0; i < 2; i++) {
      const socket = await open(server);
      expect(await socket.receive()).toMatchObject({
        data: { code: "FACTORY_ERROR", message: expect.stringMatching(message) },
      });
      await socket.closed;
    }
  });
});

describe("a thrown value", () => {
  const hostile = {
    "without a prototype": () => Object.create(null) as unknown,
    "with a message that throws": () =>
      Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("no");
        },
      }),
    "a proxy that throws": () =>
      new Proxy(new Error("x"), {
        get: () => {
          throw new Error("no");
        },
        getPrototypeOf: () => {
          throw new Error("no");
        },
      }),
    undefined: () => undefined,
  };

  test.each(Object.entries(hostile))(
    "%s is answered, sync and async, and the session continues",
    async (_what, make) => {
      const server = await startWith(() => ({
        ...well,
        step: ({ say }) => {
          if (say === "sync") throw make();
          return say === "async" ? Promise.reject(make()) : { observation: { said: say } };
        },
        close: () => Promise.reject(make()),
      }));
      const socket = await open(server);
      for (const say of ["sync", "async"]) {
        expect(await socket.ask({ type: "step", data: { say } })).toMatchObject({ data: { code: "EXECUTION_ERROR" } });
      }
      expect(await socket.ask({ type: "step", data: { say: "on" } })).toMatchObject({ type: "observation" });
    },
  );
});

describe("a reset that fails", () => {
  test("leaves no episode to step in, neither the previous nor a new one", async () => {
    let fails = false;
    const environment = defineEnvironment(contract, () => ({
      ...well,
      reset: () => {
        if (fails) throw new Error("not now");
        return { observation: {} };
      },
    }));
    const server = await start({}, { environment } as unknown as Parameters<typeof start>[1]);
    const socket = await open(server);
    await socket.ask({ type: "reset" });
    fails = true;
    expect(await socket.ask({ type: "reset" })).toMatchObject({ data: { code: "EXECUTION_ERROR" } });
    expect(await socket.ask({ type: "step", data: {} })).toMatchObject({
      data: { message: expect.stringContaining("call reset first") },
    });
  });
});

describe("long calls", () => {
  test("count as activity when they end: the session is not reaped with their answer", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance", "setInterval", "clearInterval"] });
    try {
      let begun = 0;
      let finish = (): void => {};
      const answer = { observation: {} };
      const hold = () => new Promise<typeof answer>((resolve) => (finish = () => resolve(answer)));
      const author: Author = { ...well, step: () => (begun++ === 0 ? hold() : answer) };
      const server = await startWith(() => author, { sessionTimeout: 20 });
      const id = (await post(server.url, "/reset")).headers.get("openenv-session") ?? "";
      const headers = { "openenv-session": id, "content-type": "application/json" };
      const step = () => fetch(`${server.url}/step`, { method: "POST", headers, body: '{"action":{}}' });
      const long = step();
      await waitFor(() => begun === 1);
      vi.advanceTimersByTime(60_000);
      finish();
      expect((await long).status).toBe(200);
      vi.advanceTimersByTime(15_000);
      expect((await step()).status).toBe(200);
      vi.advanceTimersByTime(25_000);
      expect((await step()).status).toBe(404);
    } finally {
      vi.useRealTimers();
    }
  });

  test("can have a time limit beyond the maximum of a timer", async () => {
    const server = await startWith(() => ({ ...well, step: () => sleep(20, { observation: {} }) }));
    const body = JSON.stringify({ action: {}, timeout_s: 3e6 });
    const headers = { "content-type": "application/json" };
    expect((await fetch(`${server.url}/step`, { method: "POST", headers, body })).status).toBe(200);
  });

  test("are cancelled when the client of a named session disconnects, and the next call runs", async () => {
    let begun = 0;
    const server = await startWith(() => ({
      ...well,
      step: ({ say }, { signal }) => {
        if (say === "next") return { observation: { said: say } };
        begun++;
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
    }));
    const id = (await post(server.url, "/reset")).headers.get("openenv-session") ?? "";
    const headers = { "openenv-session": id, "content-type": "application/json" };
    const controller = new AbortController();
    const step = (say: string, signal?: AbortSignal) =>
      fetch(`${server.url}/step`, {
        method: "POST",
        headers,
        body: JSON.stringify({ action: { say } }),
        ...(signal && { signal }),
      });
    const stuck = step("stuck", controller.signal).catch(() => {});
    await waitFor(() => begun === 1);
    controller.abort();
    await stuck;
    expect((await step("next")).status).toBe(200);
  });
});

describe("shutdown", () => {
  test("waits for environments that are slow to close", async () => {
    const events: string[] = [];
    const environment = define(() => ({
      ...well,
      close: async () => {
        await sleep(100);
        events.push("closed");
      },
    }));
    const server = await serve(environment, { port: 0, logLevel: "silent", graceMs: 20_000 });
    const socket = await openTestSocket(`${server.url}/ws`);
    await socket.ask({ type: "reset" });
    await server.close();
    expect(events).toEqual(["closed"]);
  });

  test("does not wait for an environment that never closes, and sends a busy peer a close code", async () => {
    const forever = () => new Promise<never>(() => {});
    const environment = define(() => ({ ...well, step: forever, close: forever }));
    const server = await serve(environment, { port: 0, logLevel: "silent", graceMs: 50 });
    const socket = await openTestSocket(`${server.url}/ws`);
    socket.send({ type: "step", data: {} });
    await sleep(20);
    await server.close();
    expect((await socket.closed).code).toBe(1012);
  });

  test("does not wait for a rejected upgrade whose peer never closes the socket", async () => {
    const server = await serve(
      define(() => well),
      { port: 0, logLevel: "silent" },
    );
    await expect(openTestSocket(`${server.url}/nowhere`)).rejects.toThrow(/403/);
    await server.close();
  });
});
