import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BALANCERS } from "../../../test-support/deploy/balancers.js";
import { render } from "../../../test-support/deploy/render-cases.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { requireEnvoy } from "../../../test-support/requirement.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { ENVOY_CONFIG } from "./balancers/envoy-start.js";

const envoy = await requireEnvoy();
const { start } = useServers();
const RESET = { type: "reset", data: {} };
const STEP = { type: "step", data: { amount: 1 } };

test.skipIf(!envoy.available)(
  "a rendered Envoy accepts no more connections after SIGTERM, and exits when its last socket closes",
  { timeout: 60_000 },
  async () => {
    const server = await start();
    await using started = await startEnvoy(server.port);
    const { child, url } = started;
    await using first = await openTestSocket(`${url}/ws`);
    await using second = await openTestSocket(`${url}/ws`);
    for (const socket of [first, second]) await socket.ask(RESET);
    child.kill("SIGTERM");
    await expect.poll(() => serves(url), { timeout: 10_000 }).toBe(false);
    for (const count of [1, 2]) {
      for (const socket of [first, second]) {
        expect(await socket.ask(STEP)).toMatchObject({ data: { observation: { count } } });
      }
    }
    first.ws.terminate();
    expect(await second.ask(STEP)).toMatchObject({ data: { observation: { count: 3 } } });
    expect(child.exitCode).toBeNull();
    second.ws.terminate();
    expect(await started.exited).toEqual([0, null]);
  },
);

test.skipIf(!envoy.available)(
  "Envoy without a request exits at once, and a failing Envoy reports an exit code",
  { timeout: 60_000 },
  async () => {
    const server = await start();
    await using started = await startEnvoy(server.port);
    started.child.kill("SIGTERM");
    expect(await started.exited).toEqual([0, null]);
    await using wrong = await startEnvoy(server.port, (config) => `${config}wrong`);
    expect(await wrong.exited).toEqual([1, null]);
  },
);

/** Starts the machine's Envoy with the script of the container, and an admin port that the topology sets. */
async function startEnvoy(serverPort: number, edit = (config: string) => config) {
  const folder = await mkdtemp(join(tmpdir(), "openenv-envoy-"));
  const [port, admin] = [await findFreePort(), await findFreePort()];
  const balancer = { kind: "envoy", port, adminPort: admin } as const;
  const backends = [`127.0.0.1:${serverPort}`];
  const topology = { balancer: { ...balancer, host: "127.0.0.1" } };
  const { "envoy.yaml": config = "", "endpoints.yaml": endpoints = "" } = render({
    target: "envoy",
    topology,
    backends,
  });
  const { "envoy.sh": script = "" } = render({ target: "compose", topology: { image: "echo:1", balancer } });
  const file = join(folder, "envoy.yaml");
  await writeFile(file, edit(config));
  await writeFile(join(folder, "endpoints.yaml"), endpoints);
  const command = `/docker-entrypoint.sh envoy -c ${ENVOY_CONFIG}`;
  expect(script).toContain(command);
  const run = [envoy.path, ...BALANCERS.envoy.args(file)].join(" ");
  const scriptFile = join(folder, "envoy.sh");
  await writeFile(scriptFile, script.replace(command, run));
  const child = spawn("bash", [scriptFile], { stdio: "ignore", cwd: folder });
  const exited = once(child, "close");
  const url = `http://127.0.0.1:${port}`;
  await expect.poll(async () => child.exitCode !== null || (await serves(url)), { timeout: 20_000 }).toBe(true);
  return {
    child,
    url,
    exited,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGTERM");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Sends a request over a new connection. */
async function serves(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/health`, { headers: { connection: "close" } }).catch(() => undefined);
  await answer?.text();
  return answer?.ok ?? false;
}
