import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { defineCounter } from "../../../../../test-support/environments/counter.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { codeOf, countOf, openResumable, returnTo, stepFrame } from "../../../../../test-support/sockets/resumable.js";
import { HOOK_MS } from "./hook.js";
import { definePlugin, integer, type PluginHooks, type ServerPlugin, text } from "./index.js";

// Each starts servers and sockets, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const RESET = { type: "reset" };
const step = (amount: number) => ({ type: "step", data: { amount } });
const REFUSED = { code: "FORBIDDEN", message: "not this step" } as const;
const never = () => new Promise<never>(() => {});
const fail = (): never => {
  throw new Error("the plugin is broken");
};

/** A plugin with these hooks in each session. */
function inSessions(hooks: PluginHooks, name = "audit"): ServerPlugin {
  return definePlugin({ name, session: () => hooks });
}

async function failures(url: string): Promise<number> {
  const metrics = await (await fetchAsOperator(`${url}/metrics`)).text();
  return Number(/^openenv_plugin_failures_total\{worker="0",plugin="audit"\} (\d+)$/m.exec(metrics)?.[1]);
}

describe("the hooks of a session", () => {
  test("see requests in the order of the plugins, and events in reverse", async () => {
    const seen: string[] = [];
    const watch = (name: string) =>
      inSessions(
        {
          around(request, next) {
            seen.push(`${name} ${request.type} ${JSON.stringify(request.data)}`);
            return next();
          },
          record: ({ event, type }) => void seen.push(`${name} recorded ${type} ${event}`),
          ended: (reason) => void seen.push(`${name} ended: ${reason}`),
        },
        name,
      );
    const server = await start({ plugins: [watch("a"), watch("b")] });
    const socket = await open(server);
    await socket.ask(RESET);
    await socket.ask(step(2));
    await socket.ask({ type: "state" });
    expect(seen).toEqual([
      "a reset {}",
      "b reset {}",
      "b recorded reset 1",
      "a recorded reset 1",
      'a step {"amount":2}',
      'b step {"amount":2}',
      "b recorded step 2",
      "a recorded step 2",
      "a state {}",
      "b state {}",
    ]);
    socket.ws.close();
    await expect.poll(() => seen.slice(-2).map((line) => line.split(":")[0])).toEqual(["a ended", "b ended"]);
  });

  test("leave a sync step sync, and may be async", async () => {
    const order: string[] = [];
    const watch = inSessions({
      around(request, next) {
        const answer = next();
        if (request.type === "step") order.push(answer instanceof Promise ? "promise" : "value");
        return answer;
      },
      record: () => {},
    });
    const slow = inSessions({
      around: async (_request, next) => await next(),
      record: async () => new Promise((resolve) => setImmediate(resolve)),
    });
    for (const plugins of [[watch], [slow]]) {
      const socket = await open(await start({ plugins }));
      await socket.ask(RESET);
      expect(countOf(await socket.ask(step(3)))).toBe(3);
    }
    expect(order).toEqual(["value"]);
  });

  test("refuse a request, which does not reach the environment", async () => {
    const refuseOdd = inSessions({
      around: ({ data }, next) => ((data["amount"] as number) % 2 === 1 ? REFUSED : next()),
    });
    const socket = await open(await start({ plugins: [refuseOdd] }));
    await socket.ask(RESET);
    expect(await socket.ask(step(1))).toMatchObject({ type: "error", data: { ...REFUSED, fault: "client" } });
    expect(countOf(await socket.ask(step(2)))).toBe(2);
  });

  test("refuse a numbered request with its number, and the refusal is stored", async () => {
    let refusals = 0;
    const refuseOnce = inSessions({
      around: ({ data }, next) => (data["amount"] === 1 && ++refusals < 2 ? REFUSED : next()),
    });
    const server = await start({ plugins: [refuseOnce], journal: "memory" }, defineCounter({ seeded: true }));
    const { socket, id } = await openResumable(open, server);
    expect(await socket.ask(stepFrame(1, 2, 1))).toMatchObject({ type: "error", seq: 2, data: REFUSED });
    socket.ws.terminate();
    await socket.closed;
    const [again] = await returnTo(open, server, [id, undefined]);
    expect(await again.ask(stepFrame(1, 2, 1))).toMatchObject({ type: "error", seq: 2, data: REFUSED });
    expect(refusals).toBe(1);
    expect(countOf(await again.ask(stepFrame(1, 3, 2)))).toBe(1);
  });

  test("refuse the request if they fail before next(), and do not keep its answer if they fail after it", async () => {
    const early = inSessions({ around: ({ type }, next) => (type === "step" ? fail() : next()) });
    const late = inSessions({
      around: async (_request, next) => {
        await next();
        return fail();
      },
    });
    for (const [plugin, expected] of [
      [early, { type: "error", data: { code: "PLUGIN_FAILED", fault: "infrastructure" } }],
      [late, { type: "observation", data: { observation: { count: 4 } } }],
    ] as const) {
      const server = await start({ ...WITH_OPERATOR, plugins: [plugin] });
      const socket = await open(server);
      await socket.ask(RESET);
      const before = await failures(server.url);
      expect(await socket.ask(step(4))).toMatchObject(expected);
      expect(await failures(server.url)).toBe(before + 1);
      expect(await socket.ask({ type: "state" })).toMatchObject({ type: "state" });
    }
  });

  test.each<[string, () => unknown]>([
    ["at once", () => ({ code: "FULL", message: "no more steps" })],
    ["later", async () => ({ code: "FULL", message: "no more steps" })],
  ])("that refuse with an unknown code %s have failed", async (_when, refuse) => {
    const around: PluginHooks["around"] = ({ type }, next) => (type === "step" ? (refuse() as never) : next());
    const server = await start({ ...WITH_OPERATOR, plugins: [inSessions({ around })] });
    const socket = await open(server);
    await socket.ask(RESET);
    expect(codeOf(await socket.ask(step(1)))).toBe("PLUGIN_FAILED");
    expect(await failures(server.url)).toBe(1);
    expect(await socket.ask({ type: "state" })).toMatchObject({ data: { step_count: 0 } });
  });

  test("cannot replace the answer of a step that happened", async () => {
    const invents = inSessions({
      around: ({ type }, next) => {
        const answer = next();
        return type === "step" ? { code: "FORBIDDEN", message: "too late" } : answer;
      },
    });
    const server = await start({ ...WITH_OPERATOR, plugins: [invents] });
    const socket = await open(server);
    await socket.ask(RESET);
    expect(countOf(await socket.ask(step(5)))).toBe(5);
    expect(await failures(server.url)).toBe(1);
  });

  test.each([
    ["throws", fail],
    ["rejects", () => Promise.reject(new Error("the disk is full"))],
  ] as const)("whose record() %s is counted, and the answer is sent, also with a journal", async (_how, record) => {
    const server = await start(
      { ...WITH_OPERATOR, plugins: [inSessions({ record })], journal: "memory" },
      defineCounter({ seeded: true }),
    );
    const { socket } = await openResumable(open, server);
    expect(countOf(await socket.ask(stepFrame(6, 2, 1)))).toBe(6);
    expect(await failures(server.url)).toBe(2);
  });

  test("lose the session if they must record and fail, after every plugin has the event", async () => {
    const seen: number[] = [];
    const audit = inSessions({ mustRecord: true, record: ({ type }) => (type === "step" ? fail() : undefined) });
    const other = inSessions({ record: ({ event }) => void seen.push(event) }, "other");
    const socket = await open(await start({ plugins: [other, audit] }));
    await socket.ask(RESET);
    const answer = await socket.ask(step(1));
    expect(answer).toMatchObject({ type: "error", data: { code: "SESSION_LOST" } });
    expect((answer["data"] as { message: string }).message).toContain('the plugin "audit" could not record an event');
    expect((await socket.closed).reason).toContain("audit");
    expect(seen).toEqual([1, 2]);
  });

  test("are not called for the events of a replay", async () => {
    const seen: string[] = [];
    const watch = inSessions({
      around: ({ type }, next) => {
        seen.push(type);
        return next();
      },
      record: ({ event }) => void seen.push(String(event)),
    });
    const server = await start({ plugins: [watch] }, defineCounter({ seeded: true }));
    const socket = await open(server, "/ws?view=1");
    await socket.ask(RESET);
    await socket.ask(step(1));
    seen.length = 0;
    expect(await socket.ask({ type: "fork", data: { count: 1 } })).not.toMatchObject({ type: "error" });
    expect(seen).toEqual([]);
  });

  test("refuse the session if they cannot be created", async () => {
    const server = await start({ plugins: [definePlugin({ name: "audit", session: fail })] });
    const socket = await open(server);
    expect(await socket.receive()).toMatchObject({ type: "error", data: { code: "PLUGIN_FAILED" } });
    expect(server.capacity().active_sessions).toBe(0);
  });
});

describe("a hook that never answers", () => {
  const real = globalThis.setTimeout;
  /** Shortens the limit of hooks, and no other timer. */
  beforeEach(() => {
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms?: number, ...given: unknown[]) =>
      real(work, ms === HOOK_MS ? 50 : ms, ...given)) as typeof setTimeout);
  });
  afterEach(() => void vi.restoreAllMocks());

  test("refuses the request that waits for around(), and next() is not called later", async () => {
    let letIn = (): void => {};
    const waits = inSessions({
      around: ({ type }, next) =>
        type !== "step" ? next() : new Promise<void>((resolve) => (letIn = resolve)).then(next),
    });
    const socket = await open(await start({ plugins: [waits] }));
    await socket.ask(RESET);
    expect(codeOf(await socket.ask(step(1)))).toBe("PLUGIN_FAILED");
    letIn();
    expect(await socket.ask({ type: "state" })).toMatchObject({ data: { step_count: 0 } });
  });

  test("does not count the time of the step, and does not keep its answer", async () => {
    const waits = inSessions({
      around: async ({ type }, next) => {
        const answer = await next();
        return type === "step" ? never() : answer;
      },
      record: ({ type }) => (type === "step" ? never() : undefined),
    });
    const server = await start({ ...WITH_OPERATOR, plugins: [waits] });
    const socket = await open(server);
    await socket.ask(RESET);
    // A step of 50 ms takes as long as a hook may.
    expect(countOf(await socket.ask(step(50)))).toBe(50);
    expect(await failures(server.url)).toBe(2);
  });

  test("refuses the request that waits for authorize(), and the session that waits for admit()", async () => {
    const unknown = await start({ plugins: [definePlugin({ name: "audit", authorize: never })] });
    const refused = await fetch(`${unknown.url}/schema`);
    expect([refused.status, (await refused.json()).code]).toEqual([503, "PLUGIN_FAILED"]);
    const full = await start({ plugins: [definePlugin({ name: "audit", admit: never })] });
    expect(codeOf(await (await open(full)).receive())).toBe("PLUGIN_FAILED");
  });

  test("releases what an earlier plugin holds, and what admit() returns later", async () => {
    const released: string[] = [];
    const hold = (name: string) => ({ [Symbol.dispose]: () => void released.push(name) });
    let admitLate = (_held: Disposable): void => {};
    const early = definePlugin({ name: "early", admit: () => hold("early") });
    const late = definePlugin({ name: "late", admit: () => new Promise((resolve) => (admitLate = resolve)) });
    const server = await start({ plugins: [early, late] });
    expect(codeOf(await (await open(server)).receive())).toBe("PLUGIN_FAILED");
    expect(released).toEqual(["early"]);
    admitLate(hold("late"));
    await expect.poll(() => released).toEqual(["early", "late"]);
  });
});

describe("settings, metrics and start of a plugin", () => {
  test("a setting has a variable with the name of the plugin, and is checked", async () => {
    const seen: unknown[] = [];
    const plugin = definePlugin({
      name: "my-audit",
      settings: { maxLines: { kind: integer(1, 100), fallback: 7 }, file: { kind: text } },
      start({ settings }) {
        const { maxLines, file }: { maxLines: number; file: string | undefined } = settings;
        seen.push([maxLines, file]);
        return undefined;
      },
    });
    vi.stubEnv("OPENENV_MY_AUDIT_FILE", "audit.jsonl");
    await start({ plugins: [plugin] });
    expect(seen).toEqual([[7, "audit.jsonl"]]);
    vi.stubEnv("OPENENV_MY_AUDIT_MAX_LINES", "many");
    await expect(start({ plugins: [plugin] })).rejects.toThrow(
      'OPENENV_MY_AUDIT_MAX_LINES must be an integer from 1 to 100, not "many".',
    );
    vi.unstubAllEnvs();
  });

  test("metrics are on /metrics from the start", async () => {
    const plugin = definePlugin({
      name: "audit",
      metrics: {
        audit_lines_total: { type: "counter", help: "Lines.", labels: ["kind"], values: ["step", "reset"] },
        audit_seconds: { type: "histogram", help: "Durations." },
      },
      session: (_session, _opener, { metrics }) => ({
        record({ type }) {
          if (type !== "tool") metrics.audit_lines_total[type]++;
          metrics.audit_seconds.record(20);
        },
      }),
    });
    const server = await start({ ...WITH_OPERATOR, plugins: [plugin] });
    const read = async () => (await fetchAsOperator(`${server.url}/metrics`)).text();
    expect(await read()).toContain('audit_lines_total{worker="0",kind="step"} 0');
    const socket = await open(server);
    await socket.ask(RESET);
    await socket.ask(step(1));
    const metrics = await read();
    expect(metrics).toContain("# HELP audit_lines_total Lines.\n# TYPE audit_lines_total counter\n");
    expect(metrics).toContain('audit_lines_total{worker="0",kind="step"} 1');
    expect(metrics).toContain('audit_seconds_sum{worker="0"} 0.04');
  });

  test("plugins stop in reverse order with the server, and can list and end sessions", async () => {
    const order: string[] = [];
    let end = (): void => {};
    const watch = (name: string) =>
      definePlugin({
        name,
        start(server) {
          order.push(`${name} starts`);
          end = () => {
            for (const session of server.sessions()) session.end(`ended by ${name}`);
          };
          server.signal.addEventListener("abort", () => order.push(`${name} aborts`));
          return { [Symbol.asyncDispose]: async () => void order.push(`${name} stops`) };
        },
      });
    const server = await start({ plugins: [watch("a"), watch("b")] });
    const socket = await open(server);
    await socket.ask(RESET);
    end();
    expect((await socket.closed).reason).toContain("ended by b");
    await server.close();
    expect(order).toEqual(["a starts", "b starts", "a aborts", "b aborts", "b stops", "a stops"]);
  });

  test.each([
    ["start", { start: fail }],
    ["central", { central: fail }],
  ])("an error in %s stops the start and names the plugin", async (_hook, hooks) => {
    const refused = start({ plugins: [definePlugin({ name: "audit", ...hooks })] });
    await expect(refused).rejects.toThrow('The plugin "audit" failed to start: the plugin is broken');
  });

  test.each<[string, unknown, string]>([
    ["a number instead of an object", 3, "A plugin must be an object with a name, not 3."],
    ["a name with capitals", { name: "Audit" }, 'must have lower-case letters, digits and hyphens, not "Audit"'],
    ["an unknown member", { name: "a", authorise: fail }, 'unknown member "authorise". Did you mean authorize?'],
    [
      "a metric with a reserved prefix",
      { name: "a", metrics: { openenv_x: { type: "counter", help: "" } } },
      'The metric "openenv_x"',
    ],
  ])("a plugin is refused for %s", async (_what, plugin, message) => {
    await expect(start({ plugins: [plugin as ServerPlugin] })).rejects.toThrow(message);
  });

  test("a plugin is refused if another one has its name", async () => {
    const refused = start({ plugins: [definePlugin({ name: "a" }), definePlugin({ name: "a" })] });
    await expect(refused).rejects.toThrow('The plugins "a" and "a" both have the name "a": rename one.');
  });
});
