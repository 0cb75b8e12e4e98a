import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { requireDocker } from "../../../../test-support/requirement.js";
import { findEngine } from "./connection.js";

const docker = await requireDocker();

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "openenv-engine-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe.skipIf(!docker.available)("contexts that the docker command has made", () => {
  const context = (...args: string[]) =>
    promisify(execFile)(docker.path, ["context", ...args], { env: { ...process.env, DOCKER_CONFIG: folder } });

  test("are found by DOCKER_CONTEXT, and by `docker context use`", async () => {
    await context("create", "mine", "--docker", "host=tcp://192.0.2.7:2375");
    const expected = { name: "tcp://192.0.2.7:2375", host: "192.0.2.7", port: 2375 };
    expect(findEngine({ DOCKER_CONFIG: folder, DOCKER_CONTEXT: "mine" })).toEqual(expected);
    expect(findEngine({ DOCKER_CONFIG: folder })).not.toEqual(expected);
    await context("use", "mine");
    expect(findEngine({ DOCKER_CONFIG: folder })).toEqual(expected);
    expect(findEngine({ DOCKER_CONFIG: folder, DOCKER_CONTEXT: "default" })).not.toEqual(expected);
  });
});
