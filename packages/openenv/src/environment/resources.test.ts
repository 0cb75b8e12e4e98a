import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import * as z from "zod";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import { defineContract } from "../contract/contract.js";
import { serve } from "../serve.js";
import { checkEnvironment, openResources } from "../testing/index.js";
import { defineEnvironment } from "./define-environment.js";
import type { Resource } from "./resource.js";

const contract = defineContract({ name: "store_env", action: z.object({}), observation: z.object({ db: z.int() }) });

/** Numbered databases, and what happened to them. */
class Databases {
  readonly log: string[] = [];
  readonly broken = new Set<number>();
  #last = 0;
  fails = false;

  resource(options: Partial<Resource<number>> = {}): Resource<number> {
    return {
      open: () => {
        if (this.fails) throw new Error("connection refused");
        this.log.push(`open ${++this.#last}`);
        return this.#last;
      },
      close: (db) => void this.log.push(`close ${db}`),
      check: (db) => !this.broken.has(db),
      ...options,
    };
  }

  define(options?: Partial<Resource<number>>) {
    return defineEnvironment(
      contract,
      ({ resources: { db } }) => {
        const result = () => ({ observation: { db } });
        return {
          reset: result,
          step: () => ({ ...result(), reward: 0 }),
          close: () => void this.log.push(`end ${db}`),
        };
      },
      { resources: { db: this.resource(options) }, seeded: false },
    );
  }
}

const { start } = useServers();
const dbOf = async (env: { reset(): Promise<{ observation: { db: number } }> }) => (await env.reset()).observation.db;

test("a resource of a session opens before its factory and closes after it", async () => {
  const { log, define } = bind(new Databases());
  for (const db of [1, 2]) {
    await using env = await connect(define());
    expect(await dbOf(env)).toBe(db);
  }
  expect(log).toEqual(["open 1", "end 1", "close 1", "open 2", "end 2", "close 2"]);
});

test.each(["worker", "server"] as const)(
  "a resource of a %s is open before the server listens, until it has closed",
  async (scope) => {
    const { log, define } = bind(new Databases());
    const server = await serve(define({ scope }), { port: 0, logLevel: "silent" });
    expect(log).toEqual(["open 1"]);
    for (let i = 0; i < 2; i++) {
      await using env = await connect(server.url, contract);
      expect(await dbOf(env)).toBe(1);
    }
    await server.close();
    expect(log).toEqual(["open 1", "end 1", "end 1", "close 1"]);
  },
);

test("tests hold what sessions share; otherwise it closes with the last session", async () => {
  const { log, define } = bind(new Databases());
  const environment = define({ scope: "worker" });
  {
    await using held = await openResources(environment);
    void held;
    for (let i = 0; i < 2; i++) {
      await using env = await connect(environment);
      expect(await dbOf(env)).toBe(1);
    }
    const report = await checkEnvironment(environment);
    expect(report.checks.filter(({ status }) => status === "failed")).toEqual([]);
  }
  expect(log.filter((line) => !line.startsWith("end"))).toEqual(["open 1", "close 1"]);
  await using env = await connect(environment);
  expect(await dbOf(env)).toBe(2);
});

test("a server keeps spares, replaces those that fail their check, and counts them", async () => {
  const databases = new Databases();
  const { log, define } = bind(databases);
  const running = await start(WITH_OPERATOR, { environment: define({ spares: 2 }) });
  expect(log).toEqual(["open 1", "open 2"]);
  databases.broken.add(2);
  await using one = await connect(running.url, contract);
  expect(await dbOf(one)).toBe(1);
  await using two = await connect(running.url, contract);
  expect(await dbOf(two)).toBeGreaterThan(2);
  expect(log).toContain("close 2");
  const metrics = await (await fetchAsOperator(`${running.url}/metrics`)).text();
  expect(metrics).toMatch(/^openenv_resources\{.*resource="db",state="used"\} 2$/m);
  expect(metrics).toMatch(/^openenv_resources\{.*resource="db",state="spare"\} 2$/m);
  expect(metrics).toMatch(/^openenv_resource_opens_total\{.*resource="db",result="ok"\} 5$/m);
});

test("a shared resource that fails its check is replaced, and closes after its last session", async () => {
  const databases = new Databases();
  const { log, define } = bind(databases);
  const environment = define({ scope: "worker" });
  await using held = await openResources(environment);
  void held;
  const one = await connect(environment);
  databases.broken.add(1);
  await using two = await connect(environment);
  expect(await dbOf(two)).toBe(2);
  expect(await dbOf(one)).toBe(1);
  expect(log).not.toContain("close 1");
  await one.close();
  expect(log).toContain("close 1");
});

test("one that has just opened is not checked, so a check that always fails ends", async () => {
  const { log, define } = bind(new Databases());
  const environment = define({ scope: "worker", check: () => false });
  await using held = await openResources(environment);
  void held;
  await using one = await connect(environment);
  expect(await dbOf(one)).toBe(2);
  expect(log).toEqual(["open 1", "close 1", "open 2"]);
});

test("a check that hangs ends after the time limit, and the resource is replaced", async () => {
  const { define } = bind(new Databases());
  const environment = define({ scope: "worker", check: () => new Promise<boolean>(() => {}), timeoutMs: 20 });
  await using held = await openResources(environment);
  void held;
  await using one = await connect(environment);
  expect(await dbOf(one)).toBe(2);
});

test("a server that stops does not wait for spares that open, and closes them later", async () => {
  const { log, define } = bind(new Databases());
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let opened = 0;
  const environment = define({
    spares: 1,
    open: async () => {
      if (opened++ > 0) await released;
      return opened;
    },
  });
  const server = await serve(environment, { port: 0, logLevel: "silent" });
  const env = await connect(server.url, contract);
  await env.close();
  await server.close();
  expect(log).toEqual(["end 1", "close 1"]);
  release();
  await expect.poll(() => log.length).toBe(3);
});

test("a resource that does not open stops the start, and fails a session, by its name", async () => {
  const databases = new Databases();
  databases.fails = true;
  const refused = 'the resource "db" could not be opened: connection refused';
  await expect(serve(databases.define({ scope: "worker" }), { port: 0, logLevel: "silent" })).rejects.toThrow(refused);
  await expect(connect(databases.define())).rejects.toMatchObject({
    code: "FACTORY_ERROR",
    message: expect.stringContaining(refused),
  });
  const closed: number[] = [];
  const slow = databases.define({
    open: async () => {
      await sleep(50);
      return 7;
    },
    close: (db) => void closed.push(db),
    timeoutMs: 10,
  });
  await expect(connect(slow)).rejects.toThrow('the resource "db" did not open within 0.01 s');
  await expect.poll(() => closed).toEqual([7]);
});

test.each([
  ["", undefined],
  [", and its error is reported before that of close()", "no close"],
])("a factory that fails gives its resources back%s", async (_, refused) => {
  const { log, resource } = bind(new Databases());
  const close = (db: number): void => {
    log.push(`close ${db}`);
    if (refused !== undefined) throw new Error(refused);
  };
  const environment = defineEnvironment(
    contract,
    (): never => {
      throw new Error("no factory");
    },
    { resources: { db: resource({ close }) } },
  );
  await expect(connect(environment)).rejects.toThrow("failed: no factory");
  expect(log).toEqual(["open 1", "close 1"]);
});

test.each<[Partial<Resource<number>>, string]>([
  [{ spares: -1 }, 'The resource "db" must have spares as a non-negative integer, got -1'],
  [{ spares: 1, scope: "worker" }, 'only "session" can have spares'],
  [{ scope: "process" as never }, 'must have the scope "server", "worker" or "session", got process'],
  [{ timeoutMs: 0 }, "needs a positive timeoutMs"],
  [{ open: 1 as never }, "needs a function open()"],
])("%j is refused", (options, message) => {
  expect(() => new Databases().define(options)).toThrow(message);
});

test("a scope that the settings do not allow is refused", async () => {
  const module = new URL("./environment.js", import.meta.url);
  const how = { port: 0, logLevel: "silent", isolation: "thread", module } as const;
  await expect(serve(new Databases().define({ scope: "worker" }), how)).rejects.toThrow("Set ISOLATE_POOL_SIZE");
  const workers = serve(new Databases().define({ scope: "server" }), { port: 0, logLevel: "silent", workers: 2 });
  await expect(workers).rejects.toThrow('Set WORKERS to 1, or the scope to "worker"');
  await expect(connect(new Databases().define({ scope: "server", open: () => undefined as never }))).rejects.toThrow(
    "must be plain JSON",
  );
});

function bind(databases: Databases) {
  const { log } = databases;
  return { log, define: databases.define.bind(databases), resource: databases.resource.bind(databases) };
}
