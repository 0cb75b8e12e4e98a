import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  checkProvider,
  closePrewarmed,
  dockerProvider,
  fromDockerImage,
  type Provider,
  type StartedServer,
  type StartSpec,
} from "@openenv-ts/providers";
import { connect } from "openenv-ts/client";
import { renderCheckReport } from "openenv-ts/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { buildImage, listContainers, SERVERS, type TestImage } from "../../../../test-support/commands/images.js";
import { leaveBehind } from "../../../../test-support/commands/leave-behind.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { startEngineProxy } from "../../../../test-support/proxies/engine-proxy.js";
import { requireDocker, requireRegistry } from "../../../../test-support/requirement.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";

const docker = await requireDocker();
const registry = await requireRegistry();
const run = promisify(execFile);
const OWN = `openenv.pid=${process.pid}`;

describe.skipIf(!docker.available)("containers", { timeout: 120_000 }, () => {
  const images: TestImage[] = [];
  const image: Record<"counter" | "exposed" | "other" | "drains" | "healthOnly" | "deaf" | "ends", string> = {
    counter: "",
    exposed: "",
    other: "",
    drains: "",
    healthOnly: "",
    deaf: "",
    ends: "",
  };

  beforeAll(async () => {
    const build = async (name: keyof typeof image, source: string, lines: string[] = []): Promise<void> => {
      const built = await buildImage(docker.path, source, lines);
      images.push(built);
      image[name] = built.name;
    };
    await build("counter", SERVERS.counter);
    await build("exposed", SERVERS.counter, ["ENV PORT=9123", "EXPOSE 9123"]);
    await build("other", SERVERS.counter.replace("handleSignals", "port: 7860, handleSignals"));
    await build("drains", SERVERS.counter, ["ENV SHUTDOWN_DRAIN=4 SHUTDOWN_GRACE=5"]);
    await build("healthOnly", SERVERS.healthOnly, ["EXPOSE 8000"]);
    await build("deaf", SERVERS.deaf);
    await build("ends", SERVERS.ends);
  }, 240_000);
  afterAll(async () => {
    for (const built of images) await built[Symbol.asyncDispose]();
  }, 120_000);
  afterEach(async () => {
    expect(await listContainers(docker.path, OWN)).toEqual([]);
  }, 120_000);

  interface Inspected {
    HostConfig: { PortBindings: Record<string, { HostIp: string }[]> };
    Config: { Env: string[] };
  }
  const inspect = async (): Promise<Inspected> => {
    const [id = ""] = await listContainers(docker.path, OWN);
    const [found] = JSON.parse((await run(docker.path, ["inspect", id])).stdout);
    return found;
  };

  test("it keeps the promises of every provider", async () => {
    const spec = (name: keyof typeof image, timeoutMs = 30_000) => ({ image: image[name], timeoutMs });
    const report = await checkProvider({
      create: dockerProvider,
      works: { image: image.counter, env: { HELLO: "world" } },
      actions: [{ amount: 1 }],
      writes: "hello world",
      unavailable: withoutEngine,
      broken: {
        "no such image": { spec: { image: "127.0.0.1:1/nowhere" }, code: "SOURCE_NOT_FOUND" },
        "exits at once": { spec: spec("ends"), code: "START_FAILED", message: /code 3[\s\S]*nothing to do here/ },
        "never listens": { spec: spec("deaf", 12_000), code: "START_TIMEOUT", message: /12000 ms[\s\S]*deaf/ },
        "answers /health but not /ws": {
          spec: spec("healthOnly", 12_000),
          code: "START_TIMEOUT",
          message: /GET \/health answers, but \/ws does not[\s\S]*that is all/,
        },
      },
    });
    expect(report.passed, renderCheckReport(report)).toBe(true);
  }, 300_000);

  test("close gives the sessions the time that the image sets, and then closes them", async () => {
    const server = await dockerProvider().start({ image: image.drains });
    await using idle = await openTestSocket(`${server.url}/ws`);
    await idle.ask({ type: "reset" });
    await server.close();
    expect((await idle.closed).code).toBe(1012);
  });

  test("a container reaps the processes that its environment leaves behind", async () => {
    await using _ = await dockerProvider().start({ image: image.counter });
    const [id = ""] = await listContainers(docker.path, OWN);
    await leaveBehind(docker.path, id);
  });

  test("fromDockerImage returns a client whose close stops the container", async () => {
    const env = await fromDockerImage(image.counter, { env: { HELLO: "world" } });
    await env.reset();
    const { observation } = await env.step({ amount: 2 });
    expect(observation).toEqual({ count: 2, hello: "world" });
    await expect.poll(() => env.logs(), { timeout: 20_000 }).toContain("hello world");
    expect(await listContainers(docker.path, OWN)).toHaveLength(1);
    await env.close();
    await env.close();
    expect(env.sessionLost).toBe(true);
    expect(await listContainers(docker.path, OWN)).toEqual([]);
  });

  test.each(["counter", "exposed", "other"] as const)("the port of the image %s is found", async (name) => {
    await using started = await dockerProvider().start({ image: image[name] });
    await using env = await connect(started.url);
    expect((await env.reset()).observation).toMatchObject({ count: 0 });
  });

  test.skipIf(!registry.available)("a missing image is pulled, with progress", async () => {
    const remote = `${registry.path}/${image.counter}:1`;
    for (const args of [
      ["tag", image.counter, remote],
      ["push", remote],
      ["image", "rm", remote],
    ]) {
      await run(docker.path, args);
    }
    const stages: string[] = [];
    try {
      const onProgress = (stage: string) => stages.push(stage);
      await using started = await dockerProvider().start({ image: remote, onProgress });
      await using env = await connect(started.url);
      expect((await env.reset()).observation).toMatchObject({ count: 0 });
      expect(stages[0]).toBe(`pulling ${remote}`);
      await (await dockerProvider({ pull: "always" }).start({ image: remote })).close();
    } finally {
      await run(docker.path, ["image", "rm", "--force", remote]);
    }
    const unknown = dockerProvider().start({ image: `${registry.path}/nowhere:1` });
    await expect(unknown).rejects.toMatchObject({ code: "SOURCE_NOT_FOUND" });
  });

  test("a container is published on the loopback address only", async () => {
    await using _ = await dockerProvider().start({ image: image.counter });
    const bindings = Object.values((await inspect()).HostConfig.PortBindings).flat();
    expect(new Set(bindings.map(({ HostIp }) => HostIp))).toEqual(new Set(["127.0.0.1"]));
  });

  test("limits, labels, volumes and the network reach the engine", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openenv-volume-"));
    try {
      const provider = dockerProvider({
        memory: "256m",
        cpus: 0.5,
        volumes: [`${folder}:/data:ro`],
        labels: { team: "blue" },
        network: "bridge",
        platform: "linux/amd64",
        runtime: "runc",
      });
      await using _ = await provider.start({ image: image.counter });
      expect(await inspect()).toMatchObject({
        HostConfig: { Memory: 256 * 2 ** 20, NanoCpus: 5e8, NetworkMode: "bridge", Runtime: "runc" },
        Config: { Labels: { team: "blue", "openenv.provider": "docker", "openenv.source": image.counter } },
        Mounts: [{ Type: "bind", Source: folder, Destination: "/data", RW: false }],
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("the container has the variables of its image and those of env", async () => {
    process.env["OPENENV_OF_THE_CALLER"] = "secret";
    await using _ = await dockerProvider().start({ image: image.exposed, env: { HELLO: "world" } });
    delete process.env["OPENENV_OF_THE_CALLER"];
    const names = (await inspect()).Config.Env.map((entry) => entry.split("=")[0]);
    expect(names).toEqual(expect.arrayContaining(["HELLO", "PORT", "PATH"]));
    expect(names).not.toContain("OPENENV_OF_THE_CALLER");
  });

  test("on the host's network the port is found, too", async () => {
    const provider = dockerProvider({ network: "host" });
    const port = String(await findFreePort());
    await using started = await provider.start({ image: image.counter, env: { PORT: port } });
    expect(started.url).toBe(`http://127.0.0.1:${port}`);
  });

  test("on the host's network another server is not mistaken for the container", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as { port: number };
    try {
      const provider = dockerProvider({ network: "host", containerPort: port });
      await expect(provider.start({ image: image.counter })).rejects.toThrow(/is in use/);
    } finally {
      holder.close();
    }
  });

  test("a fixed host port maps to one container port, and not to several", async () => {
    const port = await findFreePort();
    await using started = await dockerProvider({ port, containerPort: 8000 }).start({ image: image.counter });
    expect(started.url).toBe(`http://127.0.0.1:${port}`);
    await expect(dockerProvider({ port }).start({ image: image.counter })).rejects.toThrow(/containerPort/);
  });

  test("the values of secret variables are not in the error", async () => {
    const env = { HELLO: "hf_secretvalue", HF_TOKEN: "hf_secretvalue" };
    await using started = await dockerProvider().start({ image: image.counter, env });
    await expect.poll(() => started.logs(), { timeout: 20_000 }).toContain("hello <HF_TOKEN>");
  });

  test("the error for a missing image names it", async () => {
    const starting = dockerProvider({ pull: "never" }).start({ image: "openenv-nowhere:1" });
    await expect(starting).rejects.toMatchObject({
      code: "SOURCE_NOT_FOUND",
      message: expect.stringContaining("Image openenv-nowhere:1 is not available"),
    });
    await expect(dockerProvider().start({ image: "127.0.0.1:1/nowhere" })).rejects.toMatchObject({
      code: "SOURCE_NOT_FOUND",
    });
  });

  test("the error for a port in use names it, and nothing is left", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as { port: number };
    try {
      const starting = dockerProvider({ port }).start({ image: image.exposed });
      await expect(starting).rejects.toThrow(/already in use|already allocated/);
    } finally {
      holder.close();
    }
  });

  test("an abort cancels the start and leaves nothing", async () => {
    const controller = new AbortController();
    const onProgress = (stage: string): void => {
      if (stage.startsWith("waiting")) controller.abort();
    };
    const starting = dockerProvider().start({ image: image.deaf, signal: controller.signal, onProgress });
    await expect(starting).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("a container that the engine creates after an aborted start is removed", async () => {
    await using proxy = await startEngineProxy();
    const held = proxy.hold(/^POST \/containers\/create/);
    const controller = new AbortController();
    const starting = dockerProvider().start({ image: image.counter, signal: controller.signal });
    const letGo = await held;
    controller.abort();
    await expect(starting).rejects.toMatchObject({ code: "ABORTED" });
    await letGo();
    await expect.poll(() => listContainers(docker.path, OWN), { timeout: 30_000 }).toEqual([]);
  });

  test("the error names a device, runtime or folder that the engine lacks", async () => {
    const start = (options: object) => dockerProvider(options).start({ image: image.counter });
    await expect(start({ gpus: "all" })).rejects.toThrow(/device driver/);
    await expect(start({ runtime: "nonesuch" })).rejects.toThrow(/nonesuch/);
    await expect(start({ volumes: ["/nonesuch:/data"] })).rejects.toThrow(/\/nonesuch/);
  });

  test("a container that exceeds its memory limit is killed, and the error says so", async () => {
    const greedy = await buildImage(
      docker.path,
      `
      const all = [];
      for (;;) all.push(Buffer.alloc(1e7, 1));
    `,
    );
    images.push(greedy);
    const starting = dockerProvider({ memory: "64m" }).start({ image: greedy.name });
    await expect(starting).rejects.toThrow(/memory limit|code 137/);
  });

  test("prewarm keeps spares, and replaces one that exited", async () => {
    const provider = dockerProvider();
    const open = () => fromDockerImage(image.counter, { provider, prewarm: 1 });
    try {
      const first = await open();
      await first.close();
      const spare = await untilRunning(1);
      const second = await open();
      expect(await listContainers(docker.path, OWN)).toContain(spare);
      await second.close();
      const doomed = await untilRunning(1);
      await run(docker.path, ["kill", doomed]);
      await using third = await open();
      expect((await third.reset()).observation).toMatchObject({ count: 0 });
    } finally {
      await closePrewarmed();
    }
  });

  /** The one running container, once there is exactly one and it has had time to become ready. */
  async function untilRunning(count: number): Promise<string> {
    for (let tries = 0; tries < 400; tries++) {
      const ids = (await run(docker.path, ["ps", "--quiet", "--filter", `label=${OWN}`])).stdout.trim().split("\n");
      if (ids.length === count && ids[0]) return ids[0];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("no spare was started");
  }
});

function withoutEngine(): Provider {
  const start = async (spec: StartSpec): Promise<StartedServer> => {
    process.env["DOCKER_HOST"] = "tcp://127.0.0.1:1";
    try {
      return await dockerProvider().start(spec);
    } finally {
      delete process.env["DOCKER_HOST"];
    }
  };
  return { name: "docker", start };
}
