import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { counterContract } from "../../../../test-support/environments/counter.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { defineEnvironment } from "../../../openenv/src/environment/define-environment.js";
import type { BalancedServer } from "../balancer.js";
import { createEngine } from "../docker/engine.js";
import { Replicas } from "./replicas.js";

const servers = useServers();
const NODE = "node";
const PORT = 8000;

/** The responses of an engine with one node and a service with these replicas: their names and published ports. */
async function startService(ports: Map<string, number>) {
  const shown = { ports, breaksOff: 0 };
  const taskOf = (name: string) => {
    const Status = { State: "running", ContainerStatus: { ContainerID: name } };
    return { ID: name, NodeID: NODE, DesiredState: "running", Status };
  };
  const inspect = (name: string) => {
    const bindings = [{ HostIp: "0.0.0.0", HostPort: String(shown.ports.get(name)) }];
    return { NetworkSettings: { Ports: { [`${PORT}/tcp`]: bindings } } };
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    const [, container] = /^\/containers\/(.+)\/json$/.exec(pathname) ?? [];
    if (container && shown.breaksOff-- > 0) return void request.socket.destroy();
    const answers: Record<string, unknown> = {
      "/nodes": [{ ID: NODE, Status: { Addr: "192.0.2.1" } }],
      "/tasks": [...shown.ports.keys()].map(taskOf),
    };
    response.end(JSON.stringify(container ? inspect(container) : answers[pathname]));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  let used: readonly BalancedServer[] = [];
  const replicas = new Replicas({
    engine: createEngine({ name: "the engine", host: "127.0.0.1", port }),
    name: "service",
    node: NODE,
    ports: () => [PORT],
    use: (backends) => {
      used = backends;
    },
  });
  onTestFinished(() => replicas.close());
  return { shown, replicas, used: () => used.map(({ id }) => id) };
}

test("a request is repeated when the engine breaks off a response", async () => {
  const { port } = await servers.start();
  const { shown, replicas, used } = await startService(new Map([["first", port]]));
  shown.breaksOff = 2;
  await replicas.waitFor(1, AbortSignal.timeout(20_000));
  expect([used(), shown.breaksOff]).toEqual([["first"], -1]);
});

test("the error of replaced replicas is not reported for the new ones", async () => {
  const environment = defineEnvironment(counterContract, () => {
    throw new Error("no model");
  });
  const [old, fixed] = [await servers.start({}, { environment }), await servers.start()];
  const { shown, replicas, used } = await startService(new Map([["old", old.port]]));
  const message = expect.stringContaining("no model");
  const waiting = replicas.waitFor(1, AbortSignal.timeout(20_000));
  await expect(waiting).rejects.toMatchObject({ code: "START_FAILED", message });
  shown.ports = new Map([["fixed", fixed.port]]);
  await replicas.waitFor(1, AbortSignal.timeout(20_000));
  expect(used()).toEqual(["fixed"]);
});
