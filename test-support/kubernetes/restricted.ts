import { expect } from "vitest";

interface PodSpec {
  securityContext?: unknown;
  containers: Container[];
  initContainers?: Container[];
  volumes?: object[];
}

interface Container {
  securityContext?: unknown;
  ports?: object[];
}

const SAFE_SYSCTLS = ["net.ipv4.ip_unprivileged_port_start"];

/** Checks a Pod against the Pod Security Standard `restricted`, for the features that our Pods use. */
export function expectRestricted({ securityContext, containers, initContainers = [], volumes = [], ...rest }: PodSpec) {
  const { runAsUser, sysctls = [], ...ofPod } = securityContext as { runAsUser: number; sysctls?: { name: string }[] };
  expect(ofPod).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
  expect(runAsUser).toBeGreaterThan(0);
  for (const { name } of sysctls) expect(SAFE_SYSCTLS).toContain(name);
  for (const container of [...containers, ...initContainers]) {
    const { readOnlyRootFilesystem: _, ...given } = container.securityContext as Record<string, unknown>;
    const rights = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
    expect(given).toEqual(rights);
    for (const port of container.ports ?? []) expect(port).not.toHaveProperty("hostPort");
  }
  for (const volume of volumes) expect(["configMap", "emptyDir", "secret"]).toContain(Object.keys(volume)[1]);
  for (const key of ["hostNetwork", "hostPID", "hostIPC"]) expect(rest).not.toHaveProperty(key);
}
