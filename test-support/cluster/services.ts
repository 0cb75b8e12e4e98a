/**
 * Services of a cluster for processes on this machine, in place of kube-proxy and the cluster's DNS: connections to the
 * address of a Service go to one of its endpoints, a hosts file has the names of these Services, and a DNS server has the names
 * of headless ones.
 */
import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { promisify } from "node:util";
import type { V1EndpointSlice, V1Service } from "@kubernetes/client-node";
import type { ClusterApi, ClusterEvent, ClusterObject } from "./api.js";

/** Addresses of Services; the API server gives them out. */
const SERVICE_NET = "10.96.0.0/16";
const SERVICE_LABEL = "kubernetes.io/service-name";
const TTL_SECONDS = 1;

type Slice = V1EndpointSlice & ClusterObject;
type Service = V1Service & ClusterObject;

export interface ClusterServices extends AsyncDisposable {
  /** The port of the DNS server at 127.0.0.1. */
  dnsPort: number;
}

export async function startServices(
  api: ClusterApi,
  own: { namespace: string; hosts: string },
): Promise<ClusterServices> {
  await promisify(execFile)("ip", ["route", "replace", "local", SERVICE_NET, "dev", "lo"]);
  const { hosts, namespace: watched } = own;
  const over = new AbortController();
  const slices = new Map<string, Slice>();
  const services = new Map<string, Service>();
  const proxies = new Map<string, Server[]>();

  const endpoints = (namespace: string | undefined, name: string): string[] =>
    [...slices.values()]
      .filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[SERVICE_LABEL] === name)
      .flatMap((slice) => (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false))
      .flatMap(({ addresses }) => addresses);

  const proxy = (service: Service): Server[] =>
    (service.spec?.ports ?? []).map(({ port, name }) => {
      let turn = 0;
      const server = createServer((client) => {
        const { namespace } = service.metadata;
        const all = endpoints(namespace, service.metadata.name);
        const target = all[turn++ % all.length];
        const ports = [...slices.values()].find(
          ({ metadata }) => metadata.labels?.[SERVICE_LABEL] === service.metadata.name,
        )?.ports;
        const at = ports?.find((own) => (own.name ?? "") === (name ?? ""))?.port;
        if (target === undefined || at === undefined) return void client.destroy();
        const upstream = connect(at, target);
        client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
        upstream.on("error", () => client.destroy()).on("close", () => client.destroy());
        client.pipe(upstream).pipe(client);
      });
      return server.on("error", () => {}).listen(port, service.spec?.clusterIP);
    });

  const onService = ({ type, object }: ClusterEvent<Service>): void => {
    const { uid } = object.metadata;
    if (type === "DELETED") services.delete(uid);
    else services.set(uid, object);
    const address = object.spec?.clusterIP;
    const isProxied = services.has(uid) && address !== undefined && address !== "None" && address !== "";
    if (isProxied && !proxies.has(uid)) proxies.set(uid, proxy(object));
    if (!services.has(uid)) for (const server of proxies.get(uid) ?? []) server.close();
    const lines = [...services.values()].filter(({ spec }) => /^\d/.test(spec?.clusterIP ?? ""));
    const names = lines.map(
      ({ spec, metadata }) => `${spec?.clusterIP} ${metadata.name} ${metadata.name}.${metadata.namespace}`,
    );
    writeFileSync(hosts, ["127.0.0.1 localhost", ...names, ""].join("\n"));
  };
  const onSlice = ({ type, object }: ClusterEvent<Slice>): void => {
    if (type === "DELETED") slices.delete(object.metadata.uid);
    else slices.set(object.metadata.uid, object);
  };
  writeFileSync(hosts, "127.0.0.1 localhost\n");
  const watching = [
    api.watch<Service>(`/api/v1/namespaces/${watched}/services`, over.signal, onService),
    api.watch<Slice>(`/apis/discovery.k8s.io/v1/namespaces/${watched}/endpointslices`, over.signal, onSlice),
  ];
  for (const one of watching) one.catch(() => {});

  const dns = createSocket("udp4", (query, peer) => {
    const labels = readName(query);
    const [name = "", namespace] = labels;
    const own = [...services.values()].find(
      ({ metadata }) => metadata.name === name && (namespace === undefined || metadata.namespace === namespace),
    );
    dns.send(answer(query, own === undefined ? [] : endpoints(own.metadata.namespace, name)), peer.port, peer.address);
  });
  dns.bind(0, "127.0.0.1");
  await once(dns, "listening");
  return {
    dnsPort: dns.address().port,
    async [Symbol.asyncDispose]() {
      over.abort();
      dns.close();
      for (const server of [...proxies.values()].flat()) server.close();
      await Promise.allSettled(watching);
    },
  };
}

/** The labels of the name in the question of a DNS query. */
function readName(query: Buffer): string[] {
  const labels: string[] = [];
  for (let at = 12; query[at]; at += (query[at] ?? 0) + 1)
    labels.push(query.toString("latin1", at + 1, at + 1 + (query[at] ?? 0)));
  return labels;
}

/** Repeats the question, with an A record for each address. A question for another type gets none. */
function answer(query: Buffer, addresses: readonly string[]): Buffer {
  let end = 12;
  while (query[end]) end += (query[end] ?? 0) + 1;
  const question = query.subarray(12, end + 5);
  const isAddress = query.readUInt16BE(end + 1) === 1;
  const records = (isAddress ? addresses : []).map((address) => {
    const record = Buffer.alloc(16);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(1, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(TTL_SECONDS, 6);
    record.writeUInt16BE(4, 10);
    record.set(address.split(".").map(Number), 12);
    return record;
  });
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8580, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  return Buffer.concat([head, question, ...records]);
}
