import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { renderDeployment, renderPod, renderSecret } from "../../packages/providers/src/kubernetes/manifests.js";
import { requireKubernetesValidate } from "../requirement.js";
import { startKubernetesApi } from "./api.js";

const schemas = await requireKubernetesValidate();
const workload = (image: string) => ({ name: "one", image, env: {}, replicas: undefined, port: 8_000, options: {} });

async function startApi() {
  const api = await startKubernetesApi(schemas.path);
  const { clusters } = JSON.parse(await readFile(api.kubeconfig, "utf8")) as {
    clusters: [{ cluster: { server: string } }];
  };
  const ask = (method: string, path: string, body?: object) =>
    fetch(`${clusters[0].cluster.server}${path}`, {
      method,
      headers: { authorization: "Bearer of-a-test" },
      ...(body && { body: JSON.stringify(body) }),
    });
  return { api, ask, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

describe.skipIf(!schemas.available)("the API server of the tests", () => {
  test("refuses what the published API does not have", async () => {
    await using server = await startApi();
    const core = "/api/v1/namespaces/tests";
    const pod = renderPod(workload("counter"));
    expect((await server.ask("POST", `${core}/pods`, { ...pod, spec: { ...pod.spec, nodeName: 1 } })).status).toBe(422);
    expect((await server.ask("POST", `${core}/pods`, { ...pod, fate: "good" })).status).toBe(422);
    expect((await server.ask("POST", `${core}/secrets`, renderSecret(workload("counter")))).status).toBe(201);
    for (const [method, path] of [
      ["GET", `${core}/pods?labelselector=a`],
      ["GET", `${core}/pods?limit=many`],
      ["GET", `${core}/pods/one/log?tail=5`],
      ["POST", `${core}/pods?force=true`],
      ["DELETE", `${core}/secrets/one?gracePeriodSeconds=1.5`],
      ["DELETE", `${core}/secrets/one?propagationPolicy=All`],
      ["PUT", `${core}/secrets/one`],
    ] as const) {
      const { status } = await server.ask(method, path, method === "POST" ? pod : undefined);
      expect([method, path, status]).toEqual([method, path, 400]);
    }
    expect((await server.ask("DELETE", `${core}/secrets/one`, { gracePeriodSeconds: 1 })).status).toBe(400);
    expect((await server.ask("GET", "/apis/apps/v1/namespaces/tests/pods")).status).toBe(404);
    expect(server.api.names()).toEqual(["secrets/one"]);
  }, 60_000);

  test("a Pod is terminating until its container has ended; of a Deployment that is removed as an orphan it stays", async () => {
    await using server = await startApi();
    const core = "/api/v1/namespaces/tests";
    const apps = "/apis/apps/v1/namespaces/tests/deployments";
    await server.ask("POST", `${core}/pods`, renderPod(workload("counter")));
    const answer = await server.ask("DELETE", `${core}/pods/one?gracePeriodSeconds=1`);
    const terminating = { deletionGracePeriodSeconds: 1, deletionTimestamp: expect.any(String) };
    expect(await answer.json()).toMatchObject({ metadata: terminating });
    await expect.poll(server.api.names, { timeout: 10_000 }).toEqual([]);
    for (const policy of ["Orphan", "Foreground", "Background"]) {
      await server.ask(
        "POST",
        apps,
        renderDeployment({ ...workload("counter"), name: policy.toLowerCase(), replicas: 2 }),
      );
      await server.ask("DELETE", `${apps}/${policy.toLowerCase()}?propagationPolicy=${policy}`);
    }
    const orphans = [expect.stringMatching(/^pods\/orphan-/), expect.stringMatching(/^pods\/orphan-/)];
    await expect.poll(server.api.names, { timeout: 10_000 }).toEqual(orphans);
  }, 60_000);
});
