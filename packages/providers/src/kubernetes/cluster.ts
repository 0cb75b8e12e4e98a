import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { ProviderError } from "openenv-ts";
import { isObject } from "openenv-ts/internal";
import { createDeadline } from "../lifecycle/deadline.js";
import { NAME_LABEL } from "./manifests.js";
import { pollPause } from "./pod-state.js";

export interface ClusterOptions {
  /** One or several kubeconfig files, merged; default `KUBECONFIG`, or what the client library finds. */
  kubeconfig?: string | readonly string[] | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

export type KubernetesCluster = Awaited<ReturnType<typeof findKubernetesCluster>>;

/** The cluster of the options, or else of the machine's configuration. @throws ProviderError PROVIDER_UNAVAILABLE. */
export async function findKubernetesCluster({ kubeconfig, context, namespace }: ClusterOptions) {
  const { AppsV1Api, CoreV1Api, KubeConfig, NetworkingV1Api, PortForward } = await load();
  const config = new KubeConfig();
  const named = kubeconfig || (process.env["KUBECONFIG"] ?? "").split(delimiter).filter(Boolean);
  const files = [named].flat().map((file) => resolve(file));
  try {
    const [first, ...others] = files;
    if (first === undefined) config.loadFromDefault();
    else config.loadFromFile(first);
    for (const file of others) {
      const other = new KubeConfig();
      other.loadFromFile(file);
      config.mergeConfig(other);
    }
    if (context) config.setCurrentContext(context);
    if (!config.getCurrentCluster()) throw new Error("it has no current cluster");
  } catch (error) {
    throw unavailable(`The Kubernetes configuration is not usable: ${(error as Error).message}`, error);
  }
  const core = config.makeApiClient(CoreV1Api);
  const apps = config.makeApiClient(AppsV1Api);
  const networking = config.makeApiClient(NetworkingV1Api);
  const used = namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? "default";
  /** Options that select the same cluster from any folder, and after the current context changes. */
  const at: ClusterOptions = {
    kubeconfig: files.length > 0 ? files : undefined,
    context: config.getCurrentContext(),
    namespace: used,
  };
  const listPods = async (name: string): Promise<V1Pod[]> =>
    (await ask(core.listNamespacedPod({ namespace: used, labelSelector: `${NAME_LABEL}=${name}` }))).items;

  /** Removes all resources of one name and waits until its Pods are gone; does nothing when there are none. */
  const removeAll = async (name: string): Promise<void> => {
    const one = { name, namespace: used };
    const deletions = await Promise.allSettled([
      gone(networking.deleteNamespacedIngress(one)),
      gone(apps.deleteNamespacedDeployment({ ...one, propagationPolicy: "Background" })),
      gone(core.deleteNamespacedPod(one)),
      gone(core.deleteNamespacedSecret(one)),
    ]);
    for (const deletion of deletions) if (deletion.status === "rejected") throw deletion.reason;
    let pods = await listPods(name);
    const grace = Math.max(0, ...pods.map(({ spec }) => spec?.terminationGracePeriodSeconds ?? 0));
    const deadline = Date.now() + grace * 1_000 + GONE_MS;
    for (; pods.length > 0; pods = await listPods(name)) {
      if (Date.now() > deadline)
        throw new ProviderError("RELEASE_FAILED", `${pods.length} Pods of ${name} do not terminate`);
      await sleep(pollPause(pods));
    }
    // The Service goes last: it is how leftovers are found.
    await gone(core.deleteNamespacedService(one));
  };
  return { at, namespace: used, core, apps, networking, listPods, removeAll, forward: new PortForward(config) };
}

/** True when a cluster may be available: there is a configuration, and the client library is installed. */
export async function canAsk(): Promise<boolean> {
  const { KUBECONFIG, KUBERNETES_SERVICE_HOST } = process.env;
  const isConfigured = Boolean(KUBECONFIG || KUBERNETES_SERVICE_HOST) || existsSync(join(homedir(), ".kube", "config"));
  if (!isConfigured) return false;
  return load().then(
    () => true,
    () => false,
  );
}

/**
 * @throws ProviderError with the API server's message, PROVIDER_UNAVAILABLE when it does not answer within `limitMs`.
 */
export async function ask<T>(request: Promise<T>, limitMs = ANSWER_MS): Promise<T> {
  const limit = createDeadline(limitMs, undefined);
  try {
    return await limit.race(request);
  } catch (error) {
    const status = statusOf(error);
    if (status === undefined) {
      throw unavailable(`The Kubernetes API server does not answer: ${(error as Error).message}`, error);
    }
    const text = `The Kubernetes API server rejected the request (${status}): ${messageOf(error)}`;
    if (status === 401 || status === 403) throw unavailable(text, error);
    throw new ProviderError("START_FAILED", text, { cause: error });
  } finally {
    limit.end();
  }
}

/** The API server itself may wait 30 s for an admission webhook. */
const ANSWER_MS = 45_000;
/** Extra time for a node to kill a Pod after its grace period. */
const GONE_MS = 60_000;

async function load() {
  try {
    return await import("@kubernetes/client-node");
  } catch (error) {
    throw unavailable(
      "kubernetesProvider() needs the package @kubernetes/client-node. Run `npm install @kubernetes/client-node`",
      error,
    );
  }
}

async function gone(request: Promise<unknown>): Promise<void> {
  await ask(
    request.catch((error: unknown) => {
      if (statusOf(error) !== 404) throw error;
    }),
  );
}

function statusOf(error: unknown): number | undefined {
  return isObject(error) && typeof error["code"] === "number" ? error["code"] : undefined;
}

function messageOf(error: unknown): string {
  const body = isObject(error) ? error["body"] : undefined;
  try {
    const status: unknown = typeof body === "string" ? JSON.parse(body) : body;
    if (isObject(status) && typeof status["message"] === "string") return status["message"];
  } catch {
    // The body is not a Kubernetes Status object.
  }
  return (error as Error).message;
}

function unavailable(message: string, cause: unknown): ProviderError {
  return new ProviderError("PROVIDER_UNAVAILABLE", `${message.replace(/\.$/, "")}.`, { cause });
}
