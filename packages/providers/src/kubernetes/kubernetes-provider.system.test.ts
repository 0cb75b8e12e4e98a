import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { checkProvider, fromHub, kubernetesProvider } from "@openenv-ts/providers";
import { connect, connectVector } from "openenv-ts/client";
import { renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test, vi } from "vitest";
import { findFreePort } from "../../../../test-support/free-port.js";
import { startHub } from "../../../../test-support/hub/hub-server.js";
import { NOWHERE } from "../../../../test-support/kubernetes/fates.js";
import {
  askCluster,
  IMAGE,
  isMissing,
  isReal,
  own,
  useCluster,
} from "../../../../test-support/kubernetes/use-cluster.js";
import { createKubernetesOrphanFinder } from "./orphans.js";
import { isRunning } from "./pod-state.js";

// A separate process validates each created object.
vi.setConfig({ testTimeout: 120_000 });

/** Inside a real cluster there may be no configuration file. */
const REAL_KUBECONFIG = process.env["KUBECONFIG"]?.split(delimiter)[0] || join(homedir(), ".kube", "config");
const isInside = process.env["KUBERNETES_SERVICE_HOST"] !== undefined;
const ON_PLAYED = {
  "killed for its memory": { image: "hungry", code: "START_FAILED", message: /code 137 \(OOMKilled\)/ },
  "exits at once": { image: "ends", code: "START_FAILED", message: /code 3/ },
  evicted: { image: "evicted", code: "START_FAILED", message: /Evicted: The node was low/ },
  "nothing listens": { image: "deaf", code: "START_TIMEOUT", message: /answer a reset/ },
  unschedulable: { image: "huge", code: "START_TIMEOUT", message: /Unschedulable: 0\/3 nodes/ },
} as const;

describe.skipIf(isMissing)("the Kubernetes provider", () => {
  const cluster = useCluster();

  test("it keeps the promises of every provider", async () => {
    const played = Object.entries(isReal ? {} : ON_PLAYED).map(([name, { image, ...expected }]) => [
      name,
      { spec: { image, timeoutMs: expected.code === "START_TIMEOUT" ? 20_000 : 30_000 }, ...expected },
    ]);
    const report = await checkProvider({
      create: kubernetesProvider,
      works: { image: IMAGE, env: { HELLO: "world" } },
      actions: [{ amount: 1 }],
      writes: isReal ? "" : "world",
      unavailable: () => kubernetesProvider({ kubeconfig: "/nonesuch/config" }),
      broken: {
        "no such image": { spec: { image: "missing" }, code: "SOURCE_NOT_FOUND", message: /ImagePullBackOff/ },
        ...Object.fromEntries(played),
      },
    });
    expect(report.passed, renderCheckReport(report)).toBe(true);
  }, 300_000);

  test("replicas are a Deployment whose Pods share the sessions; a Pod that ends is replaced", async () => {
    await using server = await kubernetesProvider().start({ image: IMAGE, replicas: 3 });
    const sessions = await Promise.all(Array.from({ length: 6 }, () => connect(server.url)));
    for (const env of sessions) await env.reset();
    const { pods, removePod } = await askCluster();
    const running = async () => (await pods()).filter(isRunning);
    const [pod] = await running();
    await removePod(pod?.metadata?.name);
    await expect.poll(() => sessions.filter((env) => env.sessionLost).length, { timeout: 30_000 }).toBe(2);
    await expect.poll(running, { timeout: 60_000 }).toHaveLength(3);
    const lost = sessions.filter((env) => env.sessionLost);
    // A removed Pod is noticed after a moment; until then a new session may be sent to it.
    const reset = (env: (typeof lost)[number]) => env.reset().then(({ outcome }) => outcome, String);
    for (const env of lost) await expect.poll(() => reset(env), { timeout: 10_000 }).toBe("ok");
    for (const env of sessions) await env.close();
  }, 120_000);

  test.skipIf(isReal)(
    "fromHub starts the image of a Space with replicas",
    async () => {
      await using hub = await startHub();
      await hub.addSpace("author/counter", { Dockerfile: "FROM scratch" });
      vi.stubEnv("HF_ENDPOINT", hub.url);
      await using env = await fromHub("author/counter", { provider: kubernetesProvider(), replicas: 4 });
      expect((await env.reset()).observation).toEqual({ count: 0 });
      expect(cluster.api?.names().filter((name) => name.startsWith("pods/"))).toHaveLength(4);
    },
    60_000,
  );

  test("options reach the Pod, variables are in a Secret, and an Ingress has its host", async () => {
    const provider = kubernetesProvider({
      memory: "512Mi",
      cpus: "500m",
      gpus: 1,
      nodeSelector: { disk: "ssd" },
      // A real cluster rejects a class that it does not have.
      ...(isReal ? {} : { runtimeClass: "gvisor" }),
      imagePullSecrets: ["login"],
      labels: { team: "blue" },
      reach: { ingressHost: "openenv-test.invalid:8443", className: "nginx", tlsSecret: "certificate" },
    });
    const ending = new AbortController();
    const start = provider.start({ image: IMAGE, env: { API_KEY: "very-secret" }, signal: ending.signal });
    const failed = expect(start).rejects.toMatchObject({ code: "ABORTED" });
    const find = async () => (await askCluster()).pods();
    await expect.poll(find, { timeout: 60_000 }).toHaveLength(1);
    const [pod] = await find();
    expect(JSON.stringify(pod)).not.toContain("very-secret");
    expect(pod).toMatchObject({
      metadata: { labels: { team: "blue" }, annotations: { "openenv.source": IMAGE } },
      spec: {
        nodeSelector: { disk: "ssd" },
        ...(isReal ? {} : { runtimeClassName: "gvisor" }),
        imagePullSecrets: [{ name: "login" }],
        containers: [{ resources: { limits: { memory: "512Mi", cpu: "500m", "nvidia.com/gpu": "1" } } }],
      },
    });
    const [ingress] = await (await askCluster()).ingresses();
    const host = "openenv-test.invalid";
    expect(ingress?.spec).toMatchObject({ rules: [{ host }], tls: [{ hosts: [host], secretName: "certificate" }] });
    // So that the server accepts its own page under that name.
    const [secret] = await (await askCluster()).secrets();
    const stored = Buffer.from(secret?.data?.["ALLOWED_HOSTS"] ?? "", "base64").toString();
    // A real cluster answers with the bytes only.
    expect(secret?.stringData?.["ALLOWED_HOSTS"] ?? stored).toBe(host);
    ending.abort();
    await failed;
  }, 60_000);

  test("the error for a Pod with too little memory has the cluster's message", async () => {
    const start = kubernetesProvider({ memory: "24Mi" }).start({ image: IMAGE });
    await expect(start).rejects.toMatchObject({ code: "START_FAILED", message: expect.stringMatching(/OOMKilled/) });
  }, 150_000);

  test("the error for a Pod that fits no node has the cluster's message", async () => {
    const ended = new AbortController();
    const onProgress = (stage: string): void => {
      if (stage.includes("Unschedulable")) ended.abort();
    };
    const provider = kubernetesProvider({ nodeSelector: { [NOWHERE]: "here" } });
    const start = provider.start({ image: IMAGE, signal: ended.signal, onProgress });
    const message = expect.stringMatching(/0 of 1 Pods are running: one is Pending \(Unschedulable: 0\/\d+ nodes/);
    await expect(start).rejects.toMatchObject({ code: "ABORTED", message });
  }, 150_000);

  test.skipIf(isReal && !isInside)(
    "inside the cluster its replicas share the sessions, and HTTP sessions stay with their replica",
    async () => {
      const port = isReal ? {} : { containerPort: await findFreePort() };
      const provider = kubernetesProvider({ reach: "cluster-dns", ...port });
      await using server = await provider.start({ image: isReal ? IMAGE : "addressed", replicas: 3 });
      const sessions = await Promise.all(Array.from({ length: 6 }, () => connect(server.url)));
      for (const env of sessions) await env.reset();
      const { pods, removePod } = await askCluster();
      const [pod] = await pods();
      await removePod(pod?.metadata?.name);
      await expect.poll(() => sessions.filter((env) => env.sessionLost).length, { timeout: 30_000 }).toBe(2);
      for (const env of sessions) await env.close();
      const headers = { "content-type": "application/json" };
      const post = (path: string, body: object, more = {}) =>
        fetch(server.url + path, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
      const reset = await post("/reset", {});
      const session = { "openenv-session": reset.headers.get("openenv-session") ?? "" };
      for (let count = 1; count < 6; count++) {
        const step = await post("/step", { action: { amount: 1 } }, session);
        expect(await step.json()).toMatchObject({ observation: { count } });
      }
    },
    60_000,
  );

  test.skipIf(isReal)("a Pod is reached again after port forwarding failed", async () => {
    await using server = await kubernetesProvider().start({ image: IMAGE });
    const end = cluster.api?.obstruct(/^GET portforward/, Promise.reject(new Error("the API server restarts")));
    await expect(fetch(`${server.url}/health`).then(({ ok }) => ok)).resolves.toBe(false);
    end?.();
    const isWell = () => fetch(`${server.url}/health`).then(({ ok }) => ok);
    await expect.poll(isWell, { timeout: 10_000 }).toBe(true);
  });

  test.skipIf(isReal)(
    "what the API server creates after the deadline is removed, and nothing follows it",
    async () => {
      let answer = (): void => {};
      const late = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const end = cluster.api?.obstruct(/^POST services/, late);
      const before = cluster.api?.answered.length ?? 0;
      const start = kubernetesProvider().start({ image: IMAGE, env: { HELLO: "world" }, timeoutMs: 3_000 });
      await expect(start).rejects.toMatchObject({ code: "START_TIMEOUT" });
      end?.();
      answer();
      const later = () => cluster.api?.answered.slice(before) ?? [];
      await expect.poll(() => later().includes("POST services"), { timeout: 60_000 }).toBe(true);
      await expect.poll(() => cluster.api?.names(), { timeout: 10_000 }).toEqual([]);
      expect(later().filter((request) => request.startsWith("POST"))).toEqual(["POST services"]);
    },
    120_000,
  );

  test.skipIf(isReal)("one deletion that fails does not stop the others", async () => {
    const server = await kubernetesProvider().start({ image: IMAGE, env: { HELLO: "world" } });
    const end = cluster.api?.obstruct(/^DELETE ingresses/, Promise.reject(new Error("etcd is away")));
    const message = expect.stringMatching(/etcd is away.*openenv prune/);
    await expect(server.close()).rejects.toMatchObject({ code: "RELEASE_FAILED", message });
    end?.();
    // The Service is how it is found again.
    await expect.poll(() => cluster.api?.names(), { timeout: 10_000 }).toEqual([expect.stringMatching(/^services/)]);
    for (const orphan of await own()) await orphan.remove();
  });

  test.skipIf(isReal)("the error for Pods that the cluster does not admit has the cluster's message", async () => {
    const ended = new AbortController();
    const onProgress = (stage: string): void => {
      if (stage.includes("no more are created")) ended.abort();
    };
    const start = kubernetesProvider().start({ image: "forbidden", replicas: 2, signal: ended.signal, onProgress });
    const message = expect.stringMatching(
      /0 of 2 Pods are running: no more are created \(FailedCreate: exceeded quota: pods\)/,
    );
    await expect(start).rejects.toMatchObject({ code: "ABORTED", message });
  });

  test.skipIf(isReal)(
    "the log is that of the environment, even when the cluster adds containers to the Pod",
    async () => {
      await using server = await kubernetesProvider().start({ image: "meshed", env: { HELLO: "world" } });
      expect(await server.logs()).toContain("world");
    },
  );

  test.skipIf(isReal && !existsSync(REAL_KUBECONFIG))(
    "a script that does not close still ends and leaves nothing, also when KUBECONFIG is relative",
    async () => {
      const kubeconfig = resolve(cluster.api?.kubeconfig ?? REAL_KUBECONFIG);
      const entry = pathToFileURL(join(import.meta.dirname, "../../dist/index.js")).href;
      const script = `
        import { kubernetesProvider } from ${JSON.stringify(entry)};
        const { url } = await kubernetesProvider().start({ image: ${JSON.stringify(IMAGE)}, replicas: 2 });
        console.log(process.pid, url);`;
      const options = { cwd: dirname(kubeconfig), env: { ...process.env, KUBECONFIG: basename(kubeconfig) } };
      const args = ["--input-type=module", "--eval", script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { ...options, timeout: 90_000 });
      const [, pid] = /^(\d+) http/.exec(stdout) ?? [];
      const left = async () =>
        (await createKubernetesOrphanFinder().list()).filter(({ owner }) => String(owner.pid) === pid);
      expect(pid).toBeDefined();
      await expect.poll(left, { timeout: 30_000 }).toEqual([]);
    },
    150_000,
  );

  test("a vector environment on several of them", async () => {
    const options = { size: 4, servers: 2, start: { image: IMAGE } };
    await using envs = await connectVector(kubernetesProvider(), options);
    expect((await envs.reset()).map((result) => result?.outcome)).toEqual(["ok", "ok", "ok", "ok"]);
  }, 60_000);
});
