import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { isObject, ProviderError } from "openenv-ts/internal";
import { createDeadline } from "../lifecycle/deadline.js";
import { NAME_LABEL } from "./manifests.js";
import { pollPause } from "./pod-state.js";

export interface ClusterOptions {
  /** One file, or several that are merged; default those of `KUBECONFIG`, or what the client library finds. */
  kubeconfig?: string | readonly string[] | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

export type KubernetesCluster = Awaited<ReturnType<typeof findKubernetesCluster>>;

/** The cluster that the options, or else the machine's own configuration, name. @throws ProviderError PROVIDER_UNAVAILABLE. */
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
    if (!config.getCurrentCluster()) throw new Error("it names no cluster");
  } catch (error) {
    throw unavailable(`The configuration of Kubernetes cannot be used: ${(error as Error).message}`, error);
  }
  const core = config.makeApiClient(CoreV1Api);
  const apps = config.makeApiClient(AppsV1Api);
  const networking = config.makeApiClient(NetworkingV1Api);
  const used = namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? "default";
  /** Options that lead to the same place from any folder, and whatever becomes the current context. */
  const at: ClusterOptions = {
    kubeconfig: files.length > 0 ? files : undefined,
    context: config.getCurrentContext(),
    namespace: used,
  };
  const listPods = async (name: string): Promise<V1Pod[]> =>
    (await ask(core.listNamespacedPod({ namespace: used, labelSelector: `${NAME_LABEL}=${name}` }))).items;

  /** Removes all of one name and waits until its Pods are gone; nothing happens when there is nothing. */
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
      if (Date.now() > deadline) throw new ProviderError("RELEASE_FAILED", `${pods.length} Pods of ${name} do not end`);
      await sleep(pollPause(pods));
    }
    // The last, because what is left is found by it.
    await gone(core.deleteNamespacedService(one));
  };
  return { at, namespace: used, core, apps, networking, listPods, removeAll, forward: new PortForward(config) };
}

/** True where there may be a cluster to ask: a configuration, and the package that asks. */
export async function canAsk(): Promise<boolean> {
  const { KUBECONFIG, KUBERNETES_SERVICE_HOST } = process.env;
  const isConfigured = Boolean(KUBECONFIG || KUBERNETES_SERVICE_HOST) || existsSync(join(homedir(), ".kube", "config"));
  if (!isConfigured) return false;
  return load().then(
    () => true,
    () => false,
  );
}

/** @throws ProviderError with what the API server said, PROVIDER_UNAVAILABLE when it says nothing in `limitMs`. */
export async function ask<T>(request: Promise<T>, limitMs = ANSWER_MS): Promise<T> {
  const limit = createDeadline(limitMs, undefined);
  try {
    return await limit.race(request);
  } catch (error) {
    const status = statusOf(error);
    if (status === undefined) {
      throw unavailable(`The API server of Kubernetes does not answer: ${(error as Error).message}`, error);
    }
    const text = `The API server of Kubernetes refused (${status}): ${messageOf(error)}`;
    if (status === 401 || status === 403) throw unavailable(text, error);
    throw new ProviderError("START_FAILED", text, { cause: error });
  } finally {
    limit.end();
  }
}

/** What admits an object may be asked for 30 s by the API server itself. */
const ANSWER_MS = 45_000;
/** That a node may take to end a Pod whose grace period is over. */
const GONE_MS = 60_000;

async function load() {
  try {
    return await import("@kubernetes/client-node");
  } catch (error) {
    throw unavailable("kubernetesProvider() needs the package @kubernetes/client-node: npm install it", error);
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
    // It is no status of Kubernetes.
  }
  return (error as Error).message;
}

function unavailable(message: string, cause: unknown): ProviderError {
  return new ProviderError("PROVIDER_UNAVAILABLE", `${message.replace(/\.$/, "")}.`, { cause });
}
