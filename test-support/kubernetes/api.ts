/** An API server that refuses what is not in the published schemas, in front of a cluster that is played. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { V1Pod } from "@kubernetes/client-node";
import { WebSocketServer } from "ws";
import type { Blow } from "./fates.js";
import { startIngress } from "./ingress.js";
import { findFault, type Verb } from "./parameters.js";
import { createPlayedCluster } from "./played-cluster.js";

export interface KubernetesApi extends AsyncDisposable {
  /** A file that leads to it. */
  kubeconfig: string;
  /** Port on this machine where the controller of Ingresses listens. */
  ingressPort: number;
  /** Everything there is, as `pods/name`. */
  names(): string[];
  find(name: RegExp): object | undefined;
  /** The requests that were answered, as `POST services` or `DELETE services/name`. */
  readonly answered: readonly string[];
  /** From now on such a request (`GET portforward` is one) waits for that, which may reject; returns what ends it. */
  obstruct(request: RegExp, obstacle: Promise<unknown>): () => void;
  /** Befalls the first Pod of that name, which runs. */
  strike(name: RegExp, blow: Blow): Promise<void>;
}

/** The Pods of this image get a second container. */
const MESHED = "meshed";
/** The API group of each kind. */
const GROUPS: Record<string, string> = {
  pods: "/api/v1",
  secrets: "/api/v1",
  services: "/api/v1",
  deployments: "/apis/apps/v1",
  ingresses: "/apis/networking.k8s.io/v1",
};
const PATH = /^(\/api.*)\/namespaces\/tests\/(\w+)(?:\/([\w-]+))?(\/log)?$/;

export async function startKubernetesApi(validate: string): Promise<KubernetesApi> {
  const dir = await mkdtemp(join(tmpdir(), "openenv-kubernetes-"));
  const cluster = createPlayedCluster();
  const { store } = cluster;
  const answered: string[] = [];
  const obstacles = new Map<RegExp, Promise<unknown>>();
  let checked = 0;

  const pass = async (request: string): Promise<void> => {
    for (const [pattern, obstacle] of obstacles) if (pattern.test(request)) await obstacle;
  };

  const check = async (body: unknown): Promise<void> => {
    const file = join(dir, `${checked++}.json`);
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
    const [, group, kind = "", name, log] = PATH.exec(pathname) ?? [];
    if (!kind || GROUPS[kind] !== group) return refuse(404, `no such path ${pathname}`);
    const verb = verbOf(request, name, log);
    const fault = verb === undefined ? `nobody asks with ${request.method} here` : findFault(verb, searchParams);
    if (fault) return refuse(400, fault);
    const key = `${kind}/${name}`;
    const asked = `${request.method} ${name === undefined ? kind : key}`;
    response.once("finish", () => answered.push(asked));
    try {
      await pass(asked);
    } catch (error) {
      return refuse(500, String(error));
    }
    const body = request.method === "GET" ? "" : await readAll(request);
    if (verb === "create") {
      const made = JSON.parse(body) as V1Pod;
      try {
        await check(made);
      } catch (error) {
        return refuse(422, String((error as { stdout?: string }).stdout ?? error));
      }
      cluster.create(kind, made);
      return answer(201, made);
    }
    // What a removal may carry has no schema that could be asked.
    if (body) return refuse(400, `${asked} takes no body here`);
    if (verb === "delete") {
      const seconds = searchParams.get("gracePeriodSeconds");
      const removed = cluster.remove(key, {
        gracePeriodSeconds: seconds === null ? undefined : Number(seconds),
        propagationPolicy: searchParams.get("propagationPolicy"),
      });
      if (!removed) return refuse(404, `${key} not found`);
      return answer(200, kind === "pods" ? removed : { kind: "Status" });
    }
    if (verb === "list") {
      const [label = "", value] = (searchParams.get("labelSelector") ?? "").split("=");
      const all = [...store].flatMap(([own, one]) => (own.startsWith(`${kind}/`) ? [one] : []));
      const items = all.filter(({ metadata }) => {
        const own = metadata?.labels?.[label];
        return value === undefined ? own !== undefined : own === value;
      });
      return answer(200, { items });
    }
    const found = store.get(key);
    if (!found) return refuse(404, `${key} not found`);
    if (verb !== "log") return answer(200, found);
    if (found.spec?.containers[0]?.image === MESHED && !searchParams.get("container")) {
      return refuse(400, "a container name must be specified");
    }
    response.writeHead(200, { "content-type": "text/plain" }).end(cluster.readLog(found));
  };

  const server = createServer((request, response) => void handle(request, response));
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "v4.channel.k8s.io" });
  server.on("upgrade", async (request: IncomingMessage, socket: Socket, head) => {
    const isIn = await pass("GET portforward").then(
      () => true,
      () => false,
    );
    const [, name = "", port] = /\/pods\/([\w-]+)\/portforward\?ports=(\d+)$/.exec(request.url ?? "") ?? [];
    const container = await cluster.containerOf(name);
    if (!container || !port || !isIn) return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (link) => {
      const upstream = connect(container.server.port, container.server.host);
      container.sockets.add(upstream);
      for (const channel of [0, 1]) link.send(Buffer.from([channel, Number(port) & 255, Number(port) >> 8]));
      upstream.on("data", (data: Buffer) => link.send(Buffer.concat([Buffer.from([0]), data])));
      upstream.on("close", () => {
        container.sockets.delete(upstream);
        link.close();
      });
      upstream.on("error", () => link.close());
      link.on("message", (data: Buffer) => upstream.write(data.subarray(1)));
      link.on("close", () => upstream.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ingress = await startIngress(cluster);
  const kubeconfig = join(dir, "config");
  await writeFile(kubeconfig, renderConfig((server.address() as AddressInfo).port));
  return {
    kubeconfig,
    ingressPort: ingress.port,
    names: () => [...store.keys()],
    answered,
    obstruct: (request, obstacle) => {
      obstacle.catch(() => {});
      obstacles.set(request, obstacle);
      return () => void obstacles.delete(request);
    },
    find: (name) => [...store].find(([key]) => name.test(key))?.[1],
    strike: (name, blow) => cluster.strike([...store.keys()].find((key) => name.test(key)) ?? String(name), blow),
    [Symbol.asyncDispose]: async () => {
      await cluster.close();
      ingress.close();
      for (const link of sockets.clients) link.terminate();
      server.closeAllConnections();
      server.close();
      await rm(dir, { recursive: true });
    },
  };
}

function verbOf({ method }: IncomingMessage, name: string | undefined, log: string | undefined): Verb | undefined {
  if (method === "POST" && name === undefined) return "create";
  if (method === "DELETE" && name !== undefined && !log) return "delete";
  if (method !== "GET") return undefined;
  if (name === undefined) return "list";
  return log ? "log" : "read";
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
