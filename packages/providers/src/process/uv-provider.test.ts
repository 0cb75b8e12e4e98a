import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { uvProvider } from "@openenv-ts/providers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { useServers } from "../../../../test-support/servers/servers.js";

const servers = useServers();
let scratch: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), "uv-"));
  vi.stubEnv("OPENENV_CACHE", join(scratch, "cache"));
  vi.stubEnv("OPENENV_STATE_DIR", join(scratch, "state"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(scratch, { recursive: true, force: true });
});

async function writeProject(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(scratch, name), text);
  return scratch;
}

const records = () => readdir(join(scratch, "state", "processes")).catch(() => []);

describe("what cannot be started", () => {
  test("without uv says how to get it", async () => {
    const directory = await writeProject({ "pyproject.toml": "" });
    vi.stubEnv("PATH", scratch);
    await expect(uvProvider().start({ directory })).rejects.toMatchObject({
      code: "PROVIDER_UNAVAILABLE",
      message: expect.stringContaining("Install uv"),
    });
  });

  test("at a port where another environment answers is not taken for that one", async () => {
    const { port } = await servers.start();
    const directory = await writeProject({ "pyproject.toml": "" });
    await expect(uvProvider({ port }).start({ directory })).rejects.toMatchObject({
      code: "START_FAILED",
      message: expect.stringContaining(`Port ${port} of 127.0.0.1 is taken`),
    });
    expect(await records()).toEqual([]);
  });

  test("is a folder that is missing, or no Python environment", async () => {
    const missing = uvProvider().start({ directory: join(scratch, "none") });
    await expect(missing).rejects.toMatchObject({ code: "SOURCE_NOT_FOUND" });
    const directory = await writeProject({ "package.json": "{}" });
    await expect(uvProvider().start({ directory })).rejects.toThrow("use processProvider()");
  });

  test("is an image, replicas, or an unknown option", async () => {
    await expect(uvProvider().start({ image: "a" })).rejects.toThrow("use dockerProvider()");
    await expect(uvProvider().start({ directory: ".", replicas: 2 })).rejects.toThrow("has no replicas");
    expect(() => uvProvider({ reload: true } as object)).toThrow('uvProvider() has no option "reload"');
    expect(() => uvProvider({ port: -1 })).toThrow("port is -1");
  });

  test.each(["--reload", "a b", "module"])("is the application %j, also from a manifest", async (app) => {
    expect(() => uvProvider({ app })).toThrow("write module:name");
    const directory = await writeProject({ "pyproject.toml": "", "openenv.yaml": `name: a\napp: ${app}\n` });
    await expect(uvProvider().start({ directory })).rejects.toThrow("write module:name");
  });
});
