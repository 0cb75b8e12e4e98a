import { expect, test } from "vitest";
import { expectRestricted } from "../../../../test-support/kubernetes/restricted.js";
import { type KubernetesWorkload, renderDeployment, renderPod } from "./manifests.js";

const WORKLOAD: KubernetesWorkload = {
  name: "echo",
  image: "echo:1",
  env: {},
  replicas: undefined,
  port: 8000,
  options: {},
};

/** The Pod without replicas, and that of a Deployment. */
function podsOf(workload: Partial<KubernetesWorkload>) {
  const given = { ...WORKLOAD, ...workload };
  const specs = [renderPod(given).spec, renderDeployment({ ...given, replicas: 2 }).spec?.template.spec];
  return specs.map((spec) => {
    if (!spec) throw new Error("no Pod");
    return spec;
  });
}

test("every Pod fits the Pod Security Standard restricted, and runs as the user of our images", () => {
  for (const pod of podsOf({ env: { TOKEN: "secret" } })) {
    expectRestricted(pod);
    expect(pod.securityContext).toMatchObject({ runAsUser: 1000, runAsGroup: 1000 });
  }
});

test("an image may need another user, or root with what the cluster allows", () => {
  for (const pod of podsOf({ options: { runAsUser: 33 } })) {
    expectRestricted(pod);
    expect(pod.securityContext).toMatchObject({ runAsUser: 33, runAsGroup: 33 });
  }
  for (const { securityContext, containers } of podsOf({ options: { runAsUser: 0 } })) {
    expect(securityContext).toEqual({ runAsUser: 0 });
    expect(containers[0]).not.toHaveProperty("securityContext");
  }
});

test("the first process of a Pod is its own, which reaps what an environment leaves behind", () => {
  for (const pod of podsOf({})) expect(pod.shareProcessNamespace).toBe(true);
});

test.each([
  [{}, 10, { SHUTDOWN_DRAIN: "7", SHUTDOWN_GRACE: "1" }],
  [{ SHUTDOWN_DRAIN: "60", HELLO: "world" }, 63, { SHUTDOWN_DRAIN: "60", SHUTDOWN_GRACE: "1" }],
  [{ SHUTDOWN_DRAIN: "0", SHUTDOWN_GRACE: "0.5" }, 3, { SHUTDOWN_DRAIN: "0", SHUTDOWN_GRACE: "0.5" }],
])("a Pod with %j is killed after %i s, and its server has closed its sessions by then", (env, seconds, variables) => {
  for (const { containers, terminationGracePeriodSeconds } of podsOf({ env })) {
    expect(terminationGracePeriodSeconds).toBe(seconds);
    const own = (containers[0]?.env ?? []).map(({ name, value }) => [name, value]);
    expect(Object.fromEntries(own)).toEqual(variables);
  }
});
