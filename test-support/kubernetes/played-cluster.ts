/** What a cluster holds, and the life of its Pods: in each runs a counter of this process. */
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import type { V1ContainerStatus, V1Deployment, V1Pod, V1Secret } from "@kubernetes/client-node";
import { serve } from "../../packages/openenv/src/serve.js";
import type { RunningServer } from "../../packages/openenv/src/server/types.js";
import { settled } from "../../packages/openenv/src/util/async/settled.js";
import { defineCounter } from "../environments/counter.js";
import { afterBlow, type Blow, findFate, running, waiting } from "./fates.js";

/** The container of a Pod. */
interface Container {
  server: RunningServer;
  /** What is forwarded to it; its end is theirs. */
  sockets: Set<Socket>;
}

/** How something is removed. */
interface Removal {
  gracePeriodSeconds: number | undefined;
  propagationPolicy: string | null;
}

export type PlayedCluster = ReturnType<typeof createPlayedCluster>;

/** Images whose container listens at its own port, at an address of its own Pod. */
const ADDRESSED = "addressed";
const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
/** Of this image no Pod may be made. */
const FORBIDDEN = "forbidden";
const REFUSAL = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota: pods" };
const USUAL_GRACE_SECONDS = 30;

export function createPlayedCluster() {
  /** Everything there is, as `pods/name`. */
  const store = new Map<string, V1Pod>();
  const containers = new Map<V1Pod, Promise<Container | undefined>>();
  const ending = new Set<Promise<unknown>>();
  let count = 0;
  let addresses = 0;

  /** The second is one of IPv6, where there is one. */
  const nextAddress = (): string => (++addresses === 2 && HAS_IPV6 ? "::1" : `127.77.0.${addresses}`);

  const runContainer = async (pod: V1Pod, last?: V1ContainerStatus): Promise<Container | undefined> => {
    const { containers: [own] = [], terminationGracePeriodSeconds: grace = USUAL_GRACE_SECONDS } = pod.spec ?? {};
    const isAddressed = own?.image === ADDRESSED;
    const host = isAddressed ? nextAddress() : "127.0.0.1";
    const port = isAddressed ? (own?.ports?.[0]?.containerPort ?? 0) : 0;
    const options = { host, port, logLevel: "silent", graceMs: grace * 1_000 } as const;
    const server = own?.image === "deaf" ? undefined : await serve(defineCounter().environment, options);
    pod.status = running(host, last);
    return server && { server, sockets: new Set() };
  };

  const stopContainer = async (pod: V1Pod, graceMs: number): Promise<void> => {
    const container = await containers.get(pod);
    containers.delete(pod);
    if (!container) return;
    if (graceMs > 0) await settled(container.server.close(), graceMs);
    for (const socket of container.sockets) socket.destroy();
    await container.server.close();
  };

  const create = (kind: string, body: V1Pod): void => {
    store.set(`${kind}/${body.metadata?.name}`, body);
    if (kind === "deployments") fill(body as unknown as V1Deployment);
    if (kind !== "pods" || !body.spec) return;
    const fate = findFate(body.spec);
    body.status = fate ?? waiting("ContainerCreating", "");
    if (!fate) containers.set(body, runContainer(body));
  };

  const podsOf = (deployment: string): string[] =>
    [...store.keys()].filter((key) => key.startsWith(`pods/${deployment}-`));

  /** A Deployment replaces what it has lost, or is about to lose. */
  const fill = (deployment: V1Deployment): void => {
    const { metadata, spec } = deployment;
    const { name = "", deletionTimestamp } = metadata ?? {};
    if (deletionTimestamp) return;
    if (spec?.template.spec?.containers[0]?.image === FORBIDDEN) {
      deployment.status = { conditions: [REFUSAL] };
      return;
    }
    const isActive = (pod: V1Pod | undefined) => !pod?.metadata?.deletionTimestamp && pod?.status?.phase !== "Failed";
    const active = podsOf(name).filter((key) => isActive(store.get(key))).length;
    for (let missing = (spec?.replicas ?? 1) - active; missing > 0; missing--) {
      const pod = { metadata: { ...spec?.template.metadata, name: `${name}-${count++}` }, spec: spec?.template.spec };
      create("pods", pod as V1Pod);
    }
  };
  const fillAll = (): void => {
    for (const [key, one] of store) if (key.startsWith("deployments/")) fill(one as unknown as V1Deployment);
  };

  /** Terminating, until its container has ended or its grace is over. */
  const terminate = (key: string, graceSeconds?: number): Promise<void> => {
    const pod = store.get(key);
    if (!pod || pod.metadata?.deletionTimestamp) return Promise.resolve();
    const seconds = graceSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? USUAL_GRACE_SECONDS;
    pod.metadata = { ...pod.metadata, deletionGracePeriodSeconds: seconds, deletionTimestamp: new Date() };
    const end = stopContainer(pod, seconds * 1_000).finally(() => {
      store.delete(key);
      ending.delete(end);
    });
    ending.add(end);
    return end;
  };

  return {
    store: store as ReadonlyMap<string, V1Pod>,
    create,

    /** Returns what it was, or is until its end; nothing when there is no such thing. */
    remove(key: string, { gracePeriodSeconds, propagationPolicy }: Removal): V1Pod | undefined {
      const found = store.get(key);
      if (!found) return undefined;
      if (key.startsWith("pods/")) {
        void terminate(key, gracePeriodSeconds);
        fillAll();
        return found;
      }
      const isOwner = key.startsWith("deployments/") && propagationPolicy !== "Orphan";
      const owned = isOwner ? podsOf(found.metadata?.name ?? "") : [];
      const ends = Promise.all(owned.map((pod) => terminate(pod)));
      if (propagationPolicy !== "Foreground") store.delete(key);
      else {
        found.metadata = { ...found.metadata, deletionTimestamp: new Date() };
        void ends.then(() => store.delete(key));
      }
      return found;
    },

    /** Befalls a Pod that runs; the cluster comes to know of it once its container has ended. */
    async strike(key: string, blow: Blow): Promise<void> {
      const pod = store.get(key);
      if (!pod) throw new Error(`there is no ${key}`);
      await stopContainer(pod, blow === "Evicted" ? (pod.spec?.terminationGracePeriodSeconds ?? 0) * 1_000 : 0);
      const after = afterBlow(blow, pod);
      if ("status" in after) pod.status = after.status;
      else containers.set(pod, runContainer(pod, after.last));
      fillAll();
    },

    containerOf: async (name: string): Promise<Container | undefined> =>
      containers.get(store.get(`pods/${name}`) as V1Pod),

    readLog(pod: V1Pod): string {
      const from = pod.spec?.containers[0]?.envFrom?.[0]?.secretRef?.name;
      const secret = store.get(`secrets/${from}`) as V1Secret | undefined;
      return `started with ${JSON.stringify(secret?.stringData ?? {})}\n`;
    },

    async close(): Promise<void> {
      for (const key of store.keys()) if (key.startsWith("deployments/")) store.delete(key);
      for (const key of store.keys()) void terminate(key, 0);
      await Promise.all(ending);
    },
  };
}
