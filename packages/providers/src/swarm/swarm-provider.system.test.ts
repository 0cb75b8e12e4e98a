import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { checkProvider, fromDockerImage, type Provider, type StartSpec, swarmProvider } from "@openenv-ts/providers";
import { connect } from "openenv-ts/client";
import { renderCheckReport } from "openenv-ts/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { buildImage, SERVERS, type TestImage } from "../../../../test-support/commands/images.js";
import { leaveBehind } from "../../../../test-support/commands/leave-behind.js";
import { startEngineProxy } from "../../../../test-support/proxies/engine-proxy.js";
import { requireSwarm } from "../../../../test-support/requirement.js";
import { waitFor } from "../../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";

const swarm = await requireSwarm();
const run = promisify(execFile);
const OWN = `openenv.pid=${process.pid}`;
/** Returns its name in each observation; every replica has a different name. */
const NAMED = SERVERS.counter.replace('process.env.HELLO ?? ""', "process.env.HOSTNAME + (process.env.HELLO ?? '')");

async function docker(...args: string[]): Promise<string[]> {
  const { stdout } = await run(swarm.path, args);
  return stdout.split("\n").filter(Boolean);
}

const services = () => docker("service", "ls", "--quiet", "--filter", `label=${OWN}`);

describe.skipIf(!swarm.available)("services", () => {
  const images: TestImage[] = [];
  const image = { named: "", second: "", deaf: "", ends: "", healthOnly: "", slowlyChecked: "", drains: "" };

  beforeAll(async () => {
    const build = async (name: keyof typeof image, source: string, lines: string[] = []): Promise<void> => {
      const built = await buildImage(swarm.path, source, lines);
      images.push(built);
      image[name] = built.name;
    };
    await build("named", NAMED);
    await build("second", NAMED, ["ENV HELLO=second PORT=9000", "EXPOSE 9000"]);
    await build("slowlyChecked", NAMED, ["HEALTHCHECK --interval=90s CMD true"]);
    await build("drains", NAMED, ["ENV SHUTDOWN_DRAIN=4 SHUTDOWN_GRACE=5"]);
    await build("deaf", SERVERS.deaf);
    await build("ends", SERVERS.ends);
    await build("healthOnly", SERVERS.healthOnly, ["EXPOSE 8000"]);
  }, 240_000);
  afterAll(async () => {
    for (const built of images) await built[Symbol.asyncDispose]();
  }, 300_000);
  afterEach(async () => {
    expect(await services()).toEqual([]);
  });

  /** The name of the replica that answers a new session, which stays open. */
  async function ask(url: string) {
    const env = await connect(url);
    const { observation } = await env.reset();
    return { env, name: (observation as { hello: string }).hello };
  }

  test("it keeps the promises of every provider", async () => {
    const spec = (name: keyof typeof image, timeoutMs = 30_000): StartSpec => ({ image: image[name], timeoutMs });
    const report = await checkProvider({
      create: swarmProvider,
      works: { image: image.named, env: { HELLO: "world" }, replicas: 1 },
      actions: [{ amount: 1 }],
      writes: "world",
      unavailable: withoutEngine,
      broken: {
        "no such image": { spec: { image: "127.0.0.1:1/nowhere" }, code: "SOURCE_NOT_FOUND" },
        "exits at once": { spec: spec("ends"), code: "START_FAILED", message: /code 3/ },
        "never listens": { spec: spec("deaf", 15_000), code: "START_TIMEOUT", message: /0 of 2/ },
        "answers /health but not /ws": { spec: spec("healthOnly", 15_000), code: "START_TIMEOUT", message: /0 of 2/ },
      },
    });
    expect(report.passed, renderCheckReport(report)).toBe(true);
  }, 300_000);

  test("all replicas are ready, share the sessions, and keep the sessions that they opened", async () => {
    const replicas = 3;
    await using server = await swarmProvider().start({ image: image.named, replicas });
    const sessions = await Promise.all(Array.from({ length: 9 }, () => ask(server.url)));
    const names = sessions.map(({ name }) => name);
    expect(new Set(names).size).toBe(replicas);
    for (const name of names) expect(names.filter((other) => other === name)).toHaveLength(3);
    for (const [index, { env, name }] of sessions.entries()) {
      await env.step({ amount: index });
      const { observation } = await env.step({ amount: 1 });
      expect(observation).toEqual({ count: index + 1, hello: name });
    }
    for (const { env } of sessions) await env.close();
  }, 300_000);

  test("a replica reaps the processes that its environment leaves behind", async () => {
    await using server = await swarmProvider().start({ image: image.named, replicas: 1 });
    const { env, name } = await ask(server.url);
    await leaveBehind(swarm.path, name);
    await env.close();
  }, 120_000);

  test("a replica that ends is replaced, and only its sessions are lost", async () => {
    await using server = await swarmProvider().start({ image: image.named, replicas: 2 });
    const [first, second] = [await ask(server.url), await ask(server.url)];
    await docker("kill", first.name);
    await waitFor(() => first.env.sessionLost);
    expect((await second.env.step({ amount: 4 })).observation).toMatchObject({ count: 4 });
    const seen = new Set([first.name]);
    // The new replica takes sessions once it has answered a reset.
    const meet = async (): Promise<number> => {
      const { env, name } = await ask(server.url);
      await env.close();
      return seen.add(name).size;
    };
    await expect.poll(meet, { timeout: 120_000, interval: 200 }).toBe(3);
    await second.env.close();
  }, 300_000);

  test("an update gives the sessions of a replica the time that the image sets, and then closes them", async () => {
    await using server = await swarmProvider().start({ image: image.drains, replicas: 1 });
    await using idle = await openTestSocket(`${server.url}/ws`);
    await idle.ask({ type: "reset" });
    await server.update(image.second);
    expect((await idle.closed).code).toBe(1012);
  }, 300_000);

  test("a rolling update replaces every replica, and one that fails is rolled back", async () => {
    await using server = await swarmProvider().start({ image: image.named, replicas: 2 });
    await server.update(image.second);
    for (let times = 0; times < 4; times++) {
      const { env, name } = await ask(server.url);
      expect(name).toMatch(/second$/);
      await env.close();
    }
    await expect(server.update(image.ends)).rejects.toMatchObject({
      code: "START_FAILED",
      message: expect.stringContaining("were rolled back to the old image"),
    });
    const { env, name } = await ask(server.url);
    expect(name).toMatch(/second$/);
    await env.close();
  }, 300_000);

  test("four replicas of an image that is checked every 90 s are ready before that, and an update keeps the limit of the start", async () => {
    await using proxy = await startEngineProxy();
    const provider = swarmProvider();
    await using server = await provider.start({ image: image.slowlyChecked, replicas: 4, timeoutMs: 60_000 });
    for (const service of await services()) {
      const [spec = ""] = await docker(
        "service",
        "inspect",
        "--format",
        "{{json .Spec.TaskTemplate.ContainerSpec}}",
        service,
      );
      expect(JSON.parse(spec).Healthcheck).toMatchObject({ Interval: 5e9 });
    }
    const held = proxy.hold(/^GET \/images\//);
    const late = server.update(image.second);
    late.catch(() => {});
    await held;
    await expect(late).rejects.toMatchObject({ code: "START_TIMEOUT", message: /timed out after 60000 ms/ });
  }, 300_000);

  test("an update that times out, or of a service that is gone, is a ProviderError", async () => {
    await using proxy = await startEngineProxy();
    await using server = await swarmProvider().start({ image: image.named, replicas: 1 });
    const held = proxy.hold(/^GET \/images\//);
    const late = server.update(image.second, { timeoutMs: 3_000 });
    late.catch(() => {});
    await held;
    await expect(late).rejects.toMatchObject({ code: "START_TIMEOUT" });
    for (const service of await services()) await docker("service", "rm", service);
    const update = server.update(image.second);
    await expect(update).rejects.toMatchObject({ code: "START_FAILED" });
  }, 120_000);

  test("a service that the engine creates after an aborted start is removed", async () => {
    await using proxy = await startEngineProxy();
    const held = proxy.hold(/^POST \/services\/create/);
    const controller = new AbortController();
    const starting = swarmProvider().start({ image: image.named, signal: controller.signal });
    const letGo = await held;
    controller.abort();
    await expect(starting).rejects.toMatchObject({ code: "ABORTED" });
    await letGo();
    await expect.poll(services, { timeout: 30_000 }).toEqual([]);
  }, 60_000);

  test("limits, labels and variables reach the service; fromDockerImage removes it", async () => {
    const provider = swarmProvider({ memory: "128m", cpus: 0.5, labels: { team: "blue" } });
    const env = await fromDockerImage(image.named, { provider, replicas: 1, env: { HELLO: "!" } });
    expect((await env.reset()).observation).toMatchObject({ hello: expect.stringMatching(/!$/) });
    const [service = ""] = await services();
    const [inspected] = JSON.parse((await docker("service", "inspect", service)).join("\n"));
    expect(inspected.Spec).toMatchObject({
      Labels: { team: "blue", "openenv.provider": "swarm", "openenv.source": image.named },
      TaskTemplate: { Resources: { Limits: { MemoryBytes: 128 * 2 ** 20, NanoCPUs: 5e8 } } },
    });
    await env.close();
    expect(await docker("ps", "-aq", "--filter", `label=com.docker.swarm.service.id=${inspected.ID}`)).toEqual([]);
  }, 300_000);
});

function withoutEngine(): Provider {
  return {
    ...swarmProvider(),
    start: async (spec) => {
      process.env["DOCKER_HOST"] = "unix:///nonesuch/docker.sock";
      try {
        return await swarmProvider().start(spec);
      } finally {
        delete process.env["DOCKER_HOST"];
      }
    },
  };
}
