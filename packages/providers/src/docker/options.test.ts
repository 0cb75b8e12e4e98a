import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dockerProvider, fromDockerImage, swarmProvider } from "@openenv-ts/providers";
import { afterEach, describe, expect, test } from "vitest";
import { createEngine } from "./engine.js";

const NOBODY = 65_534;

describe("without an engine", () => {
  afterEach(() => {
    delete process.env["DOCKER_HOST"];
  });

  test("nobody at the address is one clear error", async () => {
    process.env["DOCKER_HOST"] = "unix:///nonesuch/docker.sock";
    await expect(dockerProvider().start({ image: "any" })).rejects.toMatchObject({
      code: "PROVIDER_UNAVAILABLE",
      message: expect.stringMatching(/No container engine answers at unix:.*DOCKER_HOST.*processProvider/s),
    });
  });

  test("one that takes requests and does not answer is told, and holds nobody up", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const engine = createEngine({ name: `tcp://127.0.0.1:${port}`, host: "127.0.0.1", port });
    try {
      await expect(engine.ask("GET", "/info", { timeoutMs: 100 })).rejects.toMatchObject({
        code: "PROVIDER_UNAVAILABLE",
        message: expect.stringMatching(/has not answered within 100 ms.*docker info/),
      });
    } finally {
      server.close();
    }
  });

  test("an address over SSH says what to do", async () => {
    process.env["DOCKER_HOST"] = "ssh://me@elsewhere";
    await expect(dockerProvider().start({ image: "any" })).rejects.toThrow(/forward the socket/);
  });

  test("an engine on another machine wants an address there", async () => {
    process.env["DOCKER_HOST"] = "tcp://192.0.2.1:2375";
    await expect(dockerProvider().start({ image: "any" })).rejects.toThrow(/publishOn/);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "a socket that the user may not use is told from one that is not there",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), "openenv-socket-"));
      const path = join(folder, "docker.sock");
      const server = createServer().listen(path);
      await once(server, "listening");
      await chmod(folder, 0o755);
      await chmod(path, 0o600);
      process.env["DOCKER_HOST"] = `unix://${path}`;
      process.seteuid?.(NOBODY);
      try {
        await expect(dockerProvider().start({ image: "any" })).rejects.toMatchObject({
          code: "PROVIDER_UNAVAILABLE",
          message: expect.stringContaining("No permission to use the container engine"),
        });
      } finally {
        process.seteuid?.(0);
        server.close();
        await rm(folder, { recursive: true });
      }
    },
  );
});

describe("options", () => {
  test.each([
    [{ memry: "1g" }, /dockerProvider\(\) has no option "memry"; it has port/],
    [{ memory: "lots" }, /memory is lots/],
    [{ memory: "1m" }, /6m and more/],
    [{ cpus: 0 }, /cpus is 0/],
    [{ gpus: 0 }, /gpus is 0/],
    [{ port: 70_000 }, /port is 70000/],
    [{ volumes: ["/data"] }, /The volume \/data is none/],
    [{ network: "none" }, /cannot be reached/],
    [{ labels: { "openenv.owner": "me" } }, /is taken/],
    [{ pull: "sometimes" }, /pull is sometimes/],
  ])("%j is refused", (options, message) => {
    expect(() => dockerProvider(options as object)).toThrow(message);
  });

  test.each(["", "../containers/json", "a/../../info", "a b", "-v", "a?x=1"])("%j is no image", async (image) => {
    for (const provider of [dockerProvider({ pull: "never" }), swarmProvider()]) {
      await expect(provider.start({ image })).rejects.toMatchObject({ code: "INVALID_CONFIG" });
    }
  });

  test("what is no image is refused with the provider that takes it", async () => {
    await expect(dockerProvider().start({ directory: "." })).rejects.toThrow(/processProvider/);
    await expect(dockerProvider().start({ image: "any", replicas: 2 })).rejects.toThrow(/no replicas/);
    await expect(dockerProvider().start({ image: "any", nonsense: 1 } as never)).rejects.toThrow(/"nonsense"/);
    await expect(fromDockerImage("any", { nonsense: 1 } as never)).rejects.toThrow(/"nonsense"/);
  });
});
