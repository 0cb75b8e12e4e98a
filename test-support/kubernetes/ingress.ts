import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { buffer } from "node:stream/consumers";
import type { V1Ingress, V1Service } from "@kubernetes/client-node";
import { isReady, isRunning } from "../../packages/providers/src/kubernetes/pod-state.js";
import type { PlayedCluster } from "./played-cluster.js";

/** The controller of Ingresses: leads what comes for a host to the Pods of its Service, in turn. */
export async function startIngress(cluster: PlayedCluster) {
  let turn = 0;

  const find = async ({ headers }: IncomingMessage) => {
    const [host] = (headers.host ?? "").split(":");
    const all = [...cluster.store];
    const ingresses = all.flatMap(([key, one]) => (key.startsWith("ingresses/") ? [one as unknown as V1Ingress] : []));
    const rule = ingresses.flatMap(({ spec }) => spec?.rules ?? []).find((one) => one.host === host);
    const target = rule?.http?.paths[0]?.backend.service;
    const service = cluster.store.get(`services/${target?.name}`) as unknown as V1Service | undefined;
    const spec = service?.spec;
    if (!spec?.ports?.some(({ port }) => port === target?.port?.number)) return undefined;
    const pods = all.filter(([key, { metadata }]) => {
      const fits = Object.entries(spec.selector ?? {}).every(([name, value]) => metadata?.labels?.[name] === value);
      return key.startsWith("pods/") && fits;
    });
    const ready = pods.flatMap(([, pod]) => (isRunning(pod) && isReady(pod) ? [pod.metadata?.name ?? ""] : []));
    const container = await cluster.containerOf(ready[turn++ % ready.length] ?? "");
    return container?.server;
  };

  const proxy = createServer(async (incoming, response) => {
    const target = await find(incoming);
    if (!target) return response.writeHead(503).end();
    const { method, url: path, headers } = incoming;
    const body = await buffer(incoming);
    // A connection of its own, and one write: one that is kept may be closed at the moment it is used again.
    const onward = { host: target.host, port: target.port, agent: false, path, method, headers };
    const outgoing = request(onward, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    outgoing.end(body);
  });
  proxy.on("upgrade", async (incoming: IncomingMessage, client) => {
    client.on("error", () => client.destroy());
    const target = await find(incoming);
    if (!target) return client.end("HTTP/1.1 503 Service Unavailable\r\n\r\n");
    const { url, rawHeaders } = incoming;
    const server = connect(target.port, target.host);
    const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}`] : []));
    server.write(`GET ${url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    server.on("error", () => client.destroy());
    client.pipe(server).pipe(client);
    client.on("close", () => server.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  return {
    port: (proxy.address() as AddressInfo).port,
    close(): void {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
