/** Scripts in processes of their own, as a blocking client is used; they load the built package. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../test-support/fleet.js";
import { buildImage, listContainers, SERVERS, type TestImage } from "../test-support/images.js";
import { requireDocker } from "../test-support/requirement.js";

const docker = await requireDocker();
const PACKAGE = join(import.meta.dirname, "..");

/** Runs the script and returns the JSON lines that it told. */
async function play(image: string, script: string): Promise<unknown[]> {
  const source = `
    import { fromDockerImageSync } from "openenv-ts/sync";
    import { processProvider } from "openenv-ts/providers";
    const image = ${JSON.stringify(image)};
    const tell = (value) => console.log(JSON.stringify(value));
    const failure = (call) => { try { call(); } catch (error) { return error; } };
    ${script}`;
  const args = ["--input-type=module", "--eval", source];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: PACKAGE, timeout: 60_000 });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

describe.skipIf(!docker.available)("fromDockerImageSync", () => {
  let image: TestImage;
  beforeAll(async () => {
    image = await buildImage(docker.path, SERVERS.counter);
  }, 60_000);
  afterAll(() => image[Symbol.asyncDispose]());
  const left = () => listContainers(docker.path, `openenv.source=${image.name}`);

  test("starts a container without a promise, and close removes it", async () => {
    const told = await play(
      image.name,
      `const env = fromDockerImageSync(image, { env: { HELLO: "world" } });
       env.reset();
       tell([env.step({ amount: 2 }).observation, env.logs().includes("hello world"), env.sessionLost]);
       env.close();
       env.close();`,
    );
    expect(told).toEqual([[{ count: 2, hello: "world" }, true, false]]);
    expect(await left()).toEqual([]);
  });

  test("a spare of prewarm is taken by the next call", async () => {
    const told = await play(
      image.name,
      `for (let round = 0; round < 2; round++) {
         const env = fromDockerImageSync(image, { prewarm: 1 });
         tell(env.reset().observation.count);
         env.close();
       }`,
    );
    expect(told).toEqual([0, 0]);
    await until(async () => (await left()).length === 0);
  });

  test("one that is forgotten ends with its process", async () => {
    await play(image.name, "fromDockerImageSync(image).reset();");
    await until(async () => (await left()).length === 0);
  });

  test("errors of the start arrive with their code", async () => {
    const told = await play(
      image.name,
      `const show = ({ name, code, message }) => tell([name, code, message]);
       show(failure(() => fromDockerImageSync("127.0.0.1:1/nowhere")));
       show(failure(() => fromDockerImageSync(image, { nonesuch: 1 })));
       show(failure(() => fromDockerImageSync(image, { provider: processProvider() })));
       show(failure(() => fromDockerImageSync(image, { provider: { name: "mine", start() {} } })));`,
    );
    expect(told).toMatchObject([
      ["ProviderError", "SOURCE_NOT_FOUND", expect.stringContaining("127.0.0.1:1/nowhere")],
      ["ConfigError", "INVALID_CONFIG", expect.stringContaining('"nonesuch"')],
      ["ConfigError", "INVALID_CONFIG", expect.stringContaining("a folder, a module or a git repository")],
      ["ConfigError", "INVALID_CONFIG", expect.stringContaining("recipe")],
    ]);
  });
});
