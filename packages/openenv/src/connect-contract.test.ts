/** One environment, used through a server and in process: callers must see the same results. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { EnvClient } from "./client/env-client.js";
import type { ConnectOptions } from "./client/options.js";
import { connectVector } from "./client/vector/connect-vector.js";
import { connect } from "./connect.js";
import { defineContract } from "./contract/contract.js";
import { bytes, datetime, image } from "./contract/fields.js";
import { defineEnvironment } from "./environment/define-environment.js";
import type { EnvironmentOptions } from "./environment/environment.js";
import { type ContractMismatchError, RemoteError } from "./errors.js";
import { serve } from "./serve.js";

const parcel = defineContract({
  name: "parcel_env",
  description: "Weighs what it is sent.",
  action: z.object({
    weight: z.int().min(0),
    label: z.string().default("none"),
    content: bytes().optional(),
    photo: image().optional(),
    sent: datetime().optional(),
    wait: z.int().default(0),
  }),
  observation: z.object({
    total: z.int(),
    label: z.string(),
    content: bytes().nullable().default(null),
    photo: image().nullable().default(null),
    sent: datetime().nullable().default(null),
  }),
  state: z.object({ parcels: z.int() }),
  reset: z.object({ limit: z.int().default(10), seal: bytes().optional() }),
});

let closed = 0;
const environment = defineEnvironment(
  parcel,
  () => {
    let total = 0;
    let parcels = 0;
    let limit = 0;
    return {
      reset: (request) => {
        [total, parcels, limit] = [0, 0, request.limit];
        return { observation: { total, label: `seed ${request.seed}`, content: request.seal ?? null } };
      },
      step: async ({ weight, wait, ...rest }, { metadata, signal }) => {
        if (weight === 13) throw new Error("unlucky weight");
        if (wait > 0) await sleep(wait, undefined, { signal });
        total += weight;
        parcels++;
        const truncated = parcels === 4;
        return {
          observation: { total, ...rest },
          reward: weight,
          done: total >= limit,
          truncated,
          metadata: { ...metadata },
        };
      },
      state: () => ({ parcels }),
      close: () => {
        closed++;
      },
    };
  },
  {
    tasks: {
      splits: () => ["train", "extra"],
      count: () => {
        throw new Error("no numbers");
      },
      get: (_split, index) => {
        if (index > 0) throw new RangeError("there is one task");
        return { id: index };
      },
    },
    author: "someone",
  },
);

type Client = EnvClient<typeof parcel>;
type Use = (test: (env: Client) => Promise<void>, options?: ConnectOptions) => Promise<void>;

const overHttp: Use = async (test, options) => {
  await using server = await serve(environment, { port: 0, logLevel: "silent" });
  await using env = await connect(server.url, parcel, options);
  await test(env);
};
const inProcess: Use = async (test, options) => {
  await using env = await connect(environment, options);
  await test(env);
};
const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

describe.each([
  ["a server", overHttp],
  ["the environment itself", inProcess],
])("a client of %s", (_, use) => {
  it("plays an episode with typed values", () =>
    use(async (env) => {
      const first = await env.reset({ seed: 7, episodeId: "e1", limit: 5 });
      expect(first).toEqual({
        outcome: "ok",
        observation: { total: 0, label: "seed 7", content: null, photo: null, sent: null },
        reward: null,
        done: false,
        metadata: {},
        warnings: [],
        // Numbered where a session can be copied: in this process, or with `resume`.
        ...(use === inProcess ? { event: 1 } : { url: expect.stringContaining("/web/#/session/") }),
      });
      const step = await env.step({ weight: 2 }, { metadata: { why: "test" } });
      expect(step).toMatchObject({ observation: { total: 2, label: "none" }, reward: 2, metadata: { why: "test" } });
      expect(await env.step({ weight: 3, label: "last" })).toMatchObject({ outcome: "terminated", done: true });
      expect(await env.state()).toEqual({ episode_id: "e1", step_count: 2, parcels: 2 });
    }));

  it("carries bytes, pictures and dates both ways", () =>
    use(async (env) => {
      const reset = await env.reset({ seal: Uint8Array.from([9]) });
      expect([...(reset.observation.content ?? [])]).toEqual([9]);
      const sent = new Date("2026-01-02T03:04:05.678Z");
      const content = Uint8Array.from([0, 255, 128]);
      const { observation } = await env.step({ weight: 1, content, photo: PNG, sent });
      expect(observation.content).toBeInstanceOf(Uint8Array);
      expect([...(observation.content ?? [])]).toEqual([0, 255, 128]);
      expect(observation.photo).toBe(`data:image/png;base64,${Buffer.from(PNG).toString("base64")}`);
      expect(observation.sent).toEqual(sent);
    }));

  it("rejects an invalid action with its path, and the session continues", () =>
    use(async (env) => {
      await env.reset();
      const error = (await env.step({ weight: -1 }).catch((cause: unknown) => cause)) as RemoteError;
      expect(error).toMatchObject({ code: "VALIDATION_ERROR", outcome: "env_error" });
      expect(error.errors).toMatchObject([{ loc: ["weight"], input: -1 }]);
      const extra = { weight: 1, colour: "red" };
      const unknown = (await env.step(extra).catch((cause: unknown) => cause)) as RemoteError;
      expect(unknown.errors).toMatchObject([{ type: "extra_forbidden", loc: ["colour"] }]);
      expect((await env.step({ weight: 1 })).observation.total).toBe(1);
    }));

  it("gets the environment's failure as an error, and the session continues", () =>
    use(async (env) => {
      await expect(env.step({ weight: 1 })).rejects.toMatchObject({
        code: "NO_EPISODE",
        wireCode: "EXECUTION_ERROR",
        message: expect.stringContaining("call reset first"),
      });
      await env.reset();
      await expect(env.step({ weight: 13 })).rejects.toMatchObject({
        code: "EXECUTION_ERROR",
        message: "unlucky weight",
      });
      expect((await env.tryStep({ weight: 13 })).outcome).toBe("env_error");
      expect((await env.step({ weight: 1 })).observation.total).toBe(1);
    }));

  it("distinguishes a truncated episode from a terminated one", () =>
    use(async (env) => {
      await env.reset({ limit: 100 });
      for (let i = 0; i < 3; i++) expect((await env.step({ weight: 1 })).outcome).toBe("ok");
      expect(await env.step({ weight: 1 })).toMatchObject({ outcome: "truncated", done: true });
    }));

  it("gets warnings about ignored reset options", () =>
    use(async (env) => {
      const undeclared = { limit: 5, colour: "red" };
      const { warnings } = await env.reset(undeclared);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('"colour"');
      expect((await env.reset({ limit: 5 })).warnings).toEqual([]);
    }));

  it("gets server timings when it asks for them", () =>
    use(
      async (env) => {
        await env.reset();
        const { metadata } = await env.step({ weight: 1, wait: 20 });
        expect(metadata["openenv"]).toMatchObject({
          step: 1,
          session: expect.any(String),
          queue_ms: expect.any(Number),
        });
      },
      { timing: true },
    ));

  it("loses the session when a call times out, and gets a new one with reset", () =>
    use(async (env) => {
      await env.reset();
      await env.step({ weight: 4 });
      const late = env.step({ weight: 1, wait: 30_000 }, { timeoutMs: 20 });
      await expect(late).rejects.toMatchObject({ code: "CLIENT_TIMEOUT", outcome: "lost" });
      expect(env.sessionLost).toBe(true);
      await expect(env.step({ weight: 1 })).rejects.toMatchObject({ code: "SESSION_LOST" });
      await env.reset();
      expect((await env.step({ weight: 1 })).observation.total).toBe(1);
    }));

  it("continues its session when a call in flight is aborted", () =>
    use(async (env) => {
      await env.reset();
      const controller = new AbortController();
      const call = env.step({ weight: 1, wait: 30_000 }, { signal: controller.signal });
      setTimeout(() => controller.abort(), 20);
      await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
      expect(await env.state()).toMatchObject({ step_count: 0 });
    }));

  it("reads tasks and metadata", () =>
    use(async (env) => {
      expect(await env.metadata()).toMatchObject({
        name: "parcel_env",
        author: "someone",
        contract: { version: "1.0.0" },
      });
      expect(await env.tasks.splits()).toEqual([
        { name: "train", type: "train" },
        { name: "extra", type: "validation" },
      ]);
      expect(await env.tasks.get("train", 0)).toEqual({ id: 0 });
      await expect(env.tasks.get("train", 1)).rejects.toMatchObject({
        code: "REQUEST_FAILED",
        details: { status: 400 },
      });
      await expect(env.tasks.list("train")).rejects.toMatchObject({
        code: "TASKS_NOT_SUPPORTED",
        details: { status: 501 },
      });
      await expect(env.tasks.count("train")).rejects.toMatchObject({
        code: "REQUEST_FAILED",
        message: expect.stringContaining("no numbers"),
        details: { status: 500 },
      });
    }));

  it("closes the environment once", () =>
    use(async (env) => {
      const before = closed;
      await env.reset();
      await env.close();
      await env.close();
      await expect.poll(() => closed).toBe(before + 1);
      await expect(env.reset()).rejects.toMatchObject({ code: "CLIENT_CLOSED" });
    }));
});

describe.each([
  ["a server", true],
  ["the environment itself", false],
])("on the way to %s", (_, served) => {
  const anything = defineContract({
    name: "anything_env",
    action: z.object({ value: z.unknown() }),
    observation: z.object({ value: z.unknown(), by: z.string().default("environment") }),
  });
  const play = async (options: EnvironmentOptions, test: (env: EnvClient) => Promise<void>) => {
    const echo = defineEnvironment(
      anything,
      () => ({
        reset: () => ({ observation: { value: null } }),
        step: ({ value }) => ({ observation: { value } }),
      }),
      options,
    );
    await using server = served ? await serve(echo, { port: 0, logLevel: "silent" }) : undefined;
    await using env = (await (server ? connect(server.url) : connect(echo))) as EnvClient;
    await env.reset();
    await test(env);
  };

  it("rejects values without a JSON form before sending them, and the session continues", () =>
    play({}, async (env) => {
      for (const value of [10n, "\ud800"]) {
        const error: unknown = await env.step({ value }).catch((cause: unknown) => cause);
        expect(error).toBeInstanceOf(RemoteError);
        expect(error).toMatchObject({ code: "VALIDATION_ERROR", message: expect.stringContaining("cannot be sent") });
      }
      expect((await env.step({ value: 1 })).observation["value"]).toBe(1);
    }));
});

describe("connecting in process", () => {
  const define = (factory: () => unknown) => defineEnvironment(parcel, factory as never);

  it("reports a factory error as a server does", async () => {
    const failing = define(() => {
      throw new Error("no parcels today");
    });
    const error: unknown = await connect(failing).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "FACTORY_ERROR", cause: { message: "no parcels today" } });
    await using server = await serve(failing, { port: 0, logLevel: "silent" });
    await using env = await connect(server.url, parcel);
    await expect(env.reset()).rejects.toMatchObject({
      code: "FACTORY_ERROR",
      message: (error as RemoteError).message,
      details: (error as RemoteError).details,
    });
  });

  it("limits the factory by the connect timeout, and closes an environment that is created too late", async () => {
    let made = (_: unknown): void => {};
    let ended = 0;
    const slow = define(() => new Promise((resolve) => (made = resolve)));
    const late = connect(slow, { connectTimeoutMs: 20 });
    await expect(late).rejects.toThrow(/factory of "parcel_env" did not create an environment within 20 ms/);
    await expect(connect(slow, { connectTimeoutMs: 20 })).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    made({ reset: () => {}, step: () => {}, close: () => ended++ });
    await expect.poll(() => ended).toBe(1);
  });

  it("is aborted by its signal before, during and after the factory", async () => {
    const hanging = define(() => new Promise(() => {}));
    await expect(connect(hanging, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "ABORTED" });
    for (const later of [(abort: () => void) => abort(), (abort: () => void) => void setTimeout(abort, 10)]) {
      const controller = new AbortController();
      const opening = connect(hanging, { signal: controller.signal });
      later(() => controller.abort(new Error("enough")));
      await expect(opening).rejects.toMatchObject({ code: "ABORTED", cause: { message: "enough" } });
    }
  });
});

describe("a call in process", () => {
  it("can be cancelled by the environment it calls", async () => {
    const controller = new AbortController();
    const quitting = defineEnvironment(parcel, () => ({
      reset: () => {
        controller.abort();
        return new Promise<never>(() => {});
      },
      step: () => ({ observation: { total: 0, label: "" } }),
      state: () => ({ parcels: 0 }),
    }));
    const env = await connect(quitting);
    await expect(env.reset({}, { signal: controller.signal })).rejects.toMatchObject({ code: "CANCELLED" });
    expect(env.sessionLost).toBe(false);
  });
});

describe("the comparison of contracts", () => {
  const older = defineContract({
    name: "parcel_env",
    action: z.object({ weight: z.int(), height: z.int() }),
    observation: z.object({ total: z.string() }),
  });

  it("names the incompatible fields, and can be turned off", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    const error = (await connect(server.url, older).catch((cause: unknown) => cause)) as ContractMismatchError;
    expect(error).toMatchObject({ name: "ContractMismatchError", code: "CONTRACT_MISMATCH" });
    expect(error.fields).toEqual(expect.arrayContaining([expect.stringMatching(/^action\.height/)]));
    expect(error.fields).toEqual(expect.arrayContaining([expect.stringMatching(/^observation\.total/)]));
    expect(error.message).toContain(
      `The server at ${server.url} (parcel_env) does not match the contract "parcel_env": `,
    );
    expect(error.message).toContain('action: "height" was removed');
    expect(error.message.match(/"total" changed/g)).toHaveLength(1);
    expect(error.message).toContain('observation: "total" changed from string to integer');
    await expect(connectVector([server.url], older, { size: 1 })).rejects.toThrow(error.message);
    expect(server.capacity().active_sessions).toBe(0);
    await using env = await connect(server.url, older, { check: false });
    await expect(env.reset()).rejects.toThrow(/contract "parcel_env": observation\.total/);
  });
});
