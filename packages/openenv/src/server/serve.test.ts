import { createHook } from "node:async_hooks";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import { defineContract, defineEnvironment, type Environment } from "../index.js";
import { serve } from "../serve.js";
import type { RunningServer, ServeOptions } from "./types.js";

const servers: RunningServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(options: ServeOptions = {}, counter = defineCounter()): Promise<RunningServer> {
  const server = await serve(counter.environment, { port: 0, logLevel: "silent", ...options });
  servers.push(server);
  return server;
}

describe("serve", () => {
  test.each([
    [{ port: 70_000 }, /PORT must be an integer from 0 to 65535, not "70000"/],
    [{ maxConcurrentEnvs: 0 }, /MAX_CONCURRENT_ENVS must be/],
    [{ sessionTimeout: -1 }, /SESSION_TIMEOUT must be/],
    [{ resumeGuarantee: 0 }, /RESUME_GUARANTEE must be/],
    [{ resumeAnswers: 0 }, /RESUME_ANSWERS must be/],
    [{ resumeBytes: 1e20 }, /RESUME_BYTES must be/],
    [{ sessionTimeout: Number.POSITIVE_INFINITY }, /SESSION_TIMEOUT must be/],
    [{ pingIntervalMs: 0 }, /pingIntervalMs must be a number from 1/],
    [{ graceMs: Number.NaN }, /graceMs must be a number from 0/],
    [{ host: "" }, /HOST must be a string that is not empty/],
    [{ prot: 8000 } as ServeOptions, /serve\(\) has no option "prot". Its options are host, port, /],
    [{ deployment: "a" } as ServeOptions, /has no option "deployment"/],
    [{ operatorToken: " " }, /\(OPENENV_OPERATOR_TOKEN\) must be a non-empty string/],
    [{ allowedOrigins: ["localhost:3000"] }, /ALLOWED_ORIGINS must be origins such as https:/],
    [{ host: "203.0.113.1" }, /HOST "203.0.113.1" is not an address of this machine/],
  ])("rejects %o and says what is allowed", async (options, message) => {
    await expect(start(options)).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringMatching(message),
    });
  });

  test("makes an environment at the start on request, and ends with the error of its factory", async () => {
    const { contract } = defineCounter().environment;
    let closed = 0;
    const make = (create: () => object) =>
      serve(defineEnvironment(contract, create as () => Environment<typeof contract>), {
        port: 0,
        logLevel: "silent",
        tryFactory: true,
      });
    const failed = make(() => {
      throw new Error("no database");
    });
    const message = 'The factory of "counter_env" failed: no database';
    await expect(failed).rejects.toMatchObject({ code: "INVALID_CONFIG", message });
    const incomplete = make(() => ({ reset: () => ({ observation: {} }), close: () => void closed++ }));
    await expect(incomplete).rejects.toThrow(/step\(\) is missing/);
    expect(closed).toBe(1);
    const away = make(() => {
      throw Object.assign(new Error("no database yet"), { fault: "infrastructure" });
    });
    servers.push(await away);
    const noClose = make(() => ({
      ...defineCounter().environment.create(),
      close: () => Promise.reject(new Error("socket closed")),
    }));
    servers.push(await noClose);
  });

  test("rejects a contract with a type that has no JSON form", async () => {
    const contract = defineContract({
      name: "map_env",
      action: z.object({ table: z.map(z.string(), z.string()) }),
      observation: z.object({}),
    });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: {} }),
      step: () => ({ observation: {} }),
    }));
    await expect(serve(environment, { port: 0 })).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringMatching(/"map_env" has no JSON Schema: action.table: /),
    });
  });

  test("rejects a port in use and says what to do", async () => {
    const { port } = await start();
    await expect(start({ port })).rejects.toThrow(/in use: set PORT or --port/);
  });

  test("leaves no timer running when it cannot listen", async () => {
    const { port } = await start();
    const timers = new Set<number>();
    const hook = createHook({
      init: (id, type) => {
        if (type === "Timeout" && new Error().stack?.includes("/src/server/")) timers.add(id);
      },
      destroy: (id) => timers.delete(id),
    }).enable();
    await expect(start({ port })).rejects.toThrow(/in use/);
    await new Promise((next) => setImmediate(next));
    hook.disable();
    expect(timers).toEqual(new Set());
  });

  test("an environment that does not support concurrent sessions has a capacity of one", async () => {
    const counter = defineCounter({ supportsConcurrentSessions: false });
    expect((await start({}, counter)).capacity().max_sessions).toBe(1);
    await expect(start({ maxConcurrentEnvs: 2 }, counter)).rejects.toThrow(/supportsConcurrentSessions: false/);
  });

  test("close can be called twice, and ends every session once", async () => {
    const counter = defineCounter();
    const server = await start({}, counter);
    const socket = await openTestSocket(`${server.url}/ws`);
    await socket.ask({ type: "reset" });
    await Promise.all([server.close(), server.close()]);
    expect(counter.log).toMatchObject({ created: 1, closed: 1 });
    await socket.closed;
  });
});
