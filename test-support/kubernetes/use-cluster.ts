import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { findKubernetesCluster } from "../../packages/providers/src/kubernetes/cluster.js";
import { NAME_LABEL } from "../../packages/providers/src/kubernetes/manifests.js";
import { createKubernetesOrphanFinder } from "../../packages/providers/src/kubernetes/orphans.js";
import { requireKubernetesValidate } from "../requirement.js";
import { type KubernetesApi, startKubernetesApi } from "./api.js";

const schemas = await requireKubernetesValidate();
/** A real cluster, where there is one, with an image of a counter that it can pull. */
export const isReal = process.env["CLUSTER"] === "up";
export const isMissing = !schemas.available && !isReal;
export const IMAGE = (isReal && process.env["OPENENV_CLUSTER_IMAGE"]) || "counter";

/** What this process has in the cluster. */
export const own = async () =>
  (await createKubernetesOrphanFinder().list()).filter(({ owner }) => owner.pid === process.pid);

/** Asks the cluster itself about the one thing that this process has there. */
export async function askCluster() {
  const { core, networking, namespace } = await findKubernetesCluster({});
  const [{ id } = { id: "nothing" }] = await own();
  const mine = { namespace, labelSelector: `${NAME_LABEL}=${id}` };
  return {
    pods: async () => (await core.listNamespacedPod(mine)).items,
    ingresses: async () => (await networking.listNamespacedIngress(mine)).items,
    secrets: async () => (await core.listNamespacedSecret(mine)).items,
    removePod: (name = "") => core.deleteNamespacedPod({ namespace, name }),
  };
}

/** For the tests of a group: the cluster that is played, unless there is a real one. Each test leaves nothing in it. */
export function useCluster(): { readonly api: KubernetesApi | undefined } {
  let api: KubernetesApi | undefined;
  beforeAll(async () => {
    if (isReal) return;
    api = await startKubernetesApi(schemas.path);
    vi.stubEnv("KUBECONFIG", api.kubeconfig);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await api?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    expect(api?.names() ?? []).toEqual([]);
    expect(await own()).toEqual([]);
  });
  return {
    get api() {
      return api;
    },
  };
}
