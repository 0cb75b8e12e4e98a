import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { buildImage, SERVERS } from "../../../test-support/commands/images.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { requireHaproxy, requireSwarm } from "../../../test-support/requirement.js";
import { connect } from "../../openenv/src/connect.js";
import { renderTarget } from "./render.js";
import { BALANCER_IMAGES } from "./targets/container.js";
import { parseTopology, type Topology } from "./topology.js";

const swarm = await requireSwarm();
const haproxy = await requireHaproxy();
const run = async (file: string, args: string[], cwd?: string) =>
  (await promisify(execFile)(file, args, { ...(cwd && { cwd }) })).stdout.trim();
/** Says who it is in each observation. */
const NAMED = SERVERS.counter.replace('process.env.HELLO ?? ""', "process.env.HOSTNAME");

test.skipIf(!swarm.available || !haproxy.available)(
  "the stack spreads sessions over its servers, an update of them loses none, and a changed one deploys again",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "openenv-stack-"));
    const name = `test-${randomBytes(4).toString("hex")}`;
    const balancerImage = `openenv-${name}-haproxy`;
    await using image = await buildImage(swarm.path, NAMED);
    const topology = parseTopology({
      name,
      image: image.name,
      nodes: 2,
      resources: { cpus: 0.2, memoryMb: 128 },
      balancer: { port: await findFreePort() },
      graceSeconds: 60,
    });
    const url = `http://127.0.0.1:${topology.balancer.port}`;
    try {
      await buildBalancer(balancerImage, folder);
      const deploy = async (given: Topology): Promise<void> => {
        for (const [file, text] of Object.entries(renderTarget("swarm", given))) {
          // Nothing can be pulled here.
          await writeFile(join(folder, file), text.replace(BALANCER_IMAGES.haproxy, balancerImage));
        }
        await run(swarm.path, ["stack", "deploy", "--resolve-image", "never", "-c", "stack.yaml", name], folder);
      };
      await deploy(topology);
      const first = new Set<string>();
      const playing: Awaited<ReturnType<typeof open>>[] = [];
      const open = async () => {
        const env = await connect(url);
        return { env, server: String((await env.reset()).observation["hello"]) };
      };
      const spread = async (): Promise<number> => {
        const opened = await open();
        playing.push(opened);
        return first.add(opened.server).size;
      };
      await expect.poll(() => spread().catch(() => 0), { timeout: 90_000, interval: 500 }).toBe(2);

      const updating = run(swarm.path, ["service", "update", "--force", "--quiet", `${name}_env`]);
      // All the while new sessions open.
      const isNew = async (): Promise<boolean> => {
        const { env, server } = await open();
        await env.close();
        return !first.has(server);
      };
      await expect.poll(isNew, { timeout: 60_000, interval: 300 }).toBe(true);
      for (const count of [1, 2, 3]) {
        for (const { env } of playing) expect((await env.step({ amount: 1 })).observation).toMatchObject({ count });
      }
      for (const { env } of playing) await env.close();
      await updating;
      expect(await isNew()).toBe(true);

      const format = "{{range .Spec.TaskTemplate.ContainerSpec.Configs}}{{.ConfigName}}{{end}}";
      const used = () => run(swarm.path, ["service", "inspect", "--format", format, `${name}_balancer`]);
      const before = await used();
      await deploy({ ...topology, spareNodes: 1 });
      expect(await used()).not.toBe(before);
      await expect.poll(() => isNew().catch(() => false), { timeout: 60_000, interval: 500 }).toBe(true);
    } finally {
      await run(swarm.path, ["stack", "rm", name]);
      const left = () => run(swarm.path, ["ps", "--all", "--quiet", "--filter", `name=${name}_`]);
      await expect.poll(left, { timeout: 60_000 }).toBe("");
      expect(await run(swarm.path, ["config", "ls", "--quiet", "--filter", `name=${name}_`])).toBe("");
      await run(swarm.path, ["image", "rm", "--force", balancerImage]);
      await rm(folder, { recursive: true, force: true });
    }
  },
  300_000,
);

/** This machine's HAProxy with its libraries, in the place of the published image. */
async function buildBalancer(name: string, folder: string): Promise<void> {
  const path = await run("sh", ["-c", `command -v ${haproxy.path}`]);
  const libraries = (await run("ldd", [path])).match(/\/\S+/g) ?? [];
  await run("cp", ["--parents", "--dereference", path, ...libraries, folder]);
  const lines = ["FROM node:20-slim", "COPY . /", `CMD ["${path}", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]`];
  await writeFile(join(folder, "Dockerfile"), lines.join("\n"));
  await run(swarm.path, ["build", "--quiet", "--tag", name, folder]);
}
