/** An API server that refuses what is not in the published schemas, and plays the life of Pods. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { V1Deployment, V1Pod, V1PodStatus, V1Secret } from "@kubernetes/client-node";
import { WebSocketServer } from "ws";
import { serve } from "../src/serve.js";
import type { RunningServer } from "../src/server/types.js";
import { defineCounter } from "./counter.js";

export interface KubernetesApi extends AsyncDisposable {
  /** A file that leads to it. */
  kubeconfig: string;
  /** Everything there is, as `pods/name`. */
  names(): string[];
  find(name: RegExp): object | undefined;
  /** The requests that were answered, as `POST services` or `DELETE services/name`. */
  readonly answered: readonly string[];
  /** From now on such a request (`GET portforward` is one) waits for that, which may reject; returns what ends it. */
  obstruct(request: RegExp, obstacle: Promise<unknown>): () => void;
}

type Stored = V1Pod & { server?: RunningServer | undefined };

/** Images whose container listens at its own port, at an address of its own Pod. */
const ADDRESSED = "addressed";
const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
/** Of this image no Pod may be made. */
const FORBIDDEN = "forbidden";
/** The Pods of this image get a second container. */
const MESHED = "meshed";
const REFUSAL = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota: pods" };

const CONTAINER = { name: "environment", image: "", imageID: "", ready: false, restartCount: 0 };

/** How a Pod with this image fares; any other runs. */
const FATES: Record<string, V1PodStatus> = {
  missing: waiting("ImagePullBackOff", 'Back-off pulling image "missing"'),
  huge: {
    phase: "Pending",
    conditions: [
      { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes are available" },
    ],
  },
  hungry: ended(137, "OOMKilled"),
  ends: ended(3, "Error"),
  evicted: { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." },
};

export async function startKubernetesApi(validate: string): Promise<KubernetesApi> {
  const dir = await mkdtemp(join(tmpdir(), "openenv-kubernetes-"));
  const store = new Map<string, Stored>();
  const answered: string[] = [];
  const obstacles = new Map<RegExp, Promise<unknown>>();
  let count = 0;
  let addresses = 0;

  const pass = async (request: string): Promise<void> => {
    for (const [pattern, obstacle] of obstacles) if (pattern.test(request)) await obstacle;
  };

  /** The second is one of IPv6, where there is one. */
  const nextAddress = (): string => (++addresses === 2 && HAS_IPV6 ? "::1" : `127.77.0.${addresses}`);

  const run = async (pod: Stored): Promise<void> => {
    const image = pod.spec?.containers[0]?.image ?? "";
    pod.status = FATES[image] ?? waiting("ContainerCreating", "");
    if (FATES[image]) return;
    const podIP = image === ADDRESSED ? nextAddress() : "127.0.0.1";
    const port = image === ADDRESSED ? (pod.spec?.containers[0]?.ports?.[0]?.containerPort ?? 0) : 0;
    const options = { host: podIP, port, logLevel: "silent" } as const;
    if (image !== "deaf") pod.server = await serve(defineCounter().environment, options);
    pod.status = { phase: "Running", podIP, conditions: [{ type: "Ready", status: "True" }] };
  };

  const create = async (kind: string, body: Stored): Promise<void> => {
    const { name = "" } = body.metadata ?? {};
    store.set(`${kind}/${name}`, body);
    if (kind === "pods") void run(body);
    if (kind === "deployments") await fill(body as unknown as V1Deployment);
  };
  const podsOf = (deployment: string) =>
    [...store.keys()].filter((key) => key.startsWith(`pods/${deployment}-`) && key.length > deployment.length);
  const fill = async (deployment: V1Deployment): Promise<void> => {
    const { metadata, spec } = deployment;
    const { name = "" } = metadata ?? {};
    if (spec?.template.spec?.containers[0]?.image === FORBIDDEN) {
      deployment.status = { conditions: [REFUSAL] };
      return;
    }
    while (podsOf(name).length < (spec?.replicas ?? 1)) {
      const pod = { metadata: { ...spec?.template.metadata, name: `${name}-${count++}` }, spec: spec?.template.spec };
      await create("pods", pod as Stored);
    }
  };
  const remove = async (key: string): Promise<boolean> => {
    const found = store.get(key);
    store.delete(key);
    await found?.server?.close();
    const name = key.replace(/^deployments\//, "");
    if (name !== key) for (const pod of podsOf(name)) await remove(pod);
    return found !== undefined;
  };
  const readLog = (pod: Stored): string => {
    const from = pod.spec?.containers[0]?.envFrom?.[0]?.secretRef?.name;
    const secret = store.get(`secrets/${from}`) as V1Secret | undefined;
    return `started with ${JSON.stringify(secret?.stringData ?? {})}\n`;
  };

  const check = async (body: unknown): Promise<void> => {
    const file = join(dir, `${count++}.json`);
    await writeFile(file, JSON.stringify(body));
    await promisify(execFile)(validate, ["--strict", file]);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const refuse = (status: number, message: string): void => answer(status, { kind: "Status", code: status, message });
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    if (request.headers.authorization !== "Bearer of-a-test") return refuse(401, "Unauthorized");
    const path = /^\/api(?:s\/(?:apps|networking\.k8s\.io))?\/v1\/namespaces\/tests\/(\w+)(?:\/([\w-]+))?(\/log)?$/;
    const [, kind = "", name, log] = path.exec(pathname) ?? [];
    if (!kind) return refuse(404, `no such path ${pathname}`);
    const key = `${kind}/${name}`;
    const asked = `${request.method} ${name === undefined ? kind : key}`;
    response.once("finish", () => answered.push(asked));
    try {
      await pass(asked);
    } catch (error) {
      return refuse(500, String(error));
    }
    const found = store.get(key);
    if (request.method === "POST") {
      const body = JSON.parse(await readAll(request)) as Stored;
      try {
        await check(body);
      } catch (error) {
        return refuse(422, String((error as { stdout?: string }).stdout ?? error));
      }
      await create(kind, body);
      return answer(201, body);
    }
    if (request.method === "DELETE") {
      const isGone = await remove(key);
      // A Deployment replaces what it has lost.
      for (const [other, one] of store)
        if (other.startsWith("deployments/")) await fill(one as unknown as V1Deployment);
      return isGone ? answer(200, { kind: "Status" }) : refuse(404, `${key} not found`);
    }
    if (name === undefined) {
      const [label = "", value] = (searchParams.get("labelSelector") ?? "").split("=");
      const all = [...store]
        .filter(([own]) => own.startsWith(`${kind}/`))
        .map(([, { server: _server, ...one }]) => one);
      const items = all.filter(({ metadata }) => {
        const own = metadata?.labels?.[label];
        return value === undefined ? own !== undefined : own === value;
      });
      return answer(200, { items });
    }
    if (!found) return refuse(404, `${key} not found`);
    if (log && found.spec?.containers[0]?.image === MESHED && !searchParams.get("container")) {
      return refuse(400, "a container name must be specified");
    }
    if (log) return void response.writeHead(200, { "content-type": "text/plain" }).end(readLog(found));
    answer(200, found);
  };

  const server = createServer((request, response) => void handle(request, response));
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "v4.channel.k8s.io" });
  server.on("upgrade", async (request: IncomingMessage, socket: Socket, head) => {
    const isIn = await pass("GET portforward").then(
      () => true,
      () => false,
    );
    const [, name, port] = /\/pods\/([\w-]+)\/portforward\?ports=(\d+)$/.exec(request.url ?? "") ?? [];
    const target = store.get(`pods/${name}`)?.server;
    if (!target || !port || !isIn) return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (link) => {
      const upstream = connect(target.port, target.host);
      for (const channel of [0, 1]) link.send(Buffer.from([channel, Number(port) & 255, Number(port) >> 8]));
      upstream.on("data", (data: Buffer) => link.send(Buffer.concat([Buffer.from([0]), data])));
      upstream.on("close", () => link.close());
      upstream.on("error", () => link.close());
      link.on("message", (data: Buffer) => upstream.write(data.subarray(1)));
      link.on("close", () => upstream.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const kubeconfig = join(dir, "config");
  await writeFile(kubeconfig, renderConfig((server.address() as AddressInfo).port));
  return {
    kubeconfig,
    names: () => [...store.keys()],
    answered,
    obstruct: (request, obstacle) => {
      obstacle.catch(() => {});
      obstacles.set(request, obstacle);
      return () => void obstacles.delete(request);
    },
    find: (name) => [...store].find(([key]) => name.test(key))?.[1],
    [Symbol.asyncDispose]: async () => {
      for (const key of [...store.keys()]) await remove(key);
      for (const link of sockets.clients) link.terminate();
      server.closeAllConnections();
      server.close();
      await rm(dir, { recursive: true });
    },
  };
}

function waiting(reason: string, message: string): V1PodStatus {
  return { phase: "Pending", containerStatuses: [{ ...CONTAINER, state: { waiting: { reason, message } } }] };
}

function ended(exitCode: number, reason: string): V1PodStatus {
  return { phase: "Failed", containerStatuses: [{ ...CONTAINER, state: { terminated: { exitCode, reason } } }] };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function renderConfig(port: number): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "tests",
    clusters: [{ name: "tests", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "tests", user: { token: "of-a-test" } }],
    contexts: [{ name: "tests", context: { cluster: "tests", user: "tests", namespace: "tests" } }],
  });
}
