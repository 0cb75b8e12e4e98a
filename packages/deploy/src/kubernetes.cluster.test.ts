import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { type Cluster, type Seen, startCluster, startPlayers } from "../../../test-support/cluster/cluster.js";
import { startMetricsAdapter } from "../../../test-support/cluster/metrics-adapter.js";
import { createProject, type Project } from "../../../test-support/commands/command-line.js";
import {
  requireCluster,
  requireEnvoy,
  requirePrometheus,
  requirePython,
  requirePythonPackage,
  requireRedis,
} from "../../../test-support/requirement.js";
import { WHERE } from "../../../test-support/servers/cluster.js";
import { connectVector, type EnvClient } from "../../openenv/src/client/index.js";
import { connect } from "../../openenv/src/connect.js";
import { renderTarget } from "./render.js";
import { pipedFiles } from "./targets.js";
import { parseTopology } from "./topology.js";
import { renderYaml } from "./yaml.js";

const kubectl = await requireCluster();
const envoy = await requireEnvoy();
const prometheus = await requirePrometheus();
const redis = await requireRedis();
const stock = await requirePython();
const ours = await requirePythonPackage();
const isHere = [kubectl, envoy, redis, stock, ours].every(({ available }) => available);

const NAME = "where";
const TOPOLOGY = {
  name: NAME,
  image: "registry.example.org/where:1",
  nodes: 2,
  workers: 1,
  capacity: 40,
  graceSeconds: 4,
};
const topology = parseTopology({ ...TOPOLOGY, journal: "redis" });
const EPISODE = 40;
const AT_ONCE = 32;

describe.skipIf(!isHere)("the rendered files on a real control plane", { timeout: 300_000 }, () => {
  let cluster: Cluster;
  let project: Project;
  let url = "";
  const servers = () => cluster.kubelet.pods("server");

  beforeAll(async () => {
    project = await createProject({ "environment.mjs": WHERE });
    const environment = `${project.dir}/environment.mjs`;
    cluster = await startCluster({ kubectl: kubectl.path, envoy: envoy.path, redis: redis.path, environment });
    await cluster.kubectl(["apply", "-f", "-"], renderYaml(volume(cluster.namespace), secret("operator-one")));
    const files = renderTarget("kubernetes", topology);
    for (const file of pipedFiles("kubernetes", files)) await cluster.kubectl(["apply", "-f", "-"], files[file] ?? "");
  }, 120_000);
  afterAll(async () => {
    await cluster?.kubectl(["delete", "persistentvolume", cluster.namespace, "--wait=false"]);
    await cluster?.[Symbol.asyncDispose]();
    await project?.[Symbol.asyncDispose]();
  }, 60_000);

  test("all Pods become ready, and the Service reaches an environment", async () => {
    for (const what of [
      `deployment/${NAME}`,
      `deployment/${NAME}-balancer`,
      `statefulset/${NAME}-journal`,
      `daemonset/${NAME}-prepull`,
    ]) {
      await cluster.kubectl(["rollout", "status", what, "--timeout=120s"]);
    }
    const address = await cluster.kubectl(["get", "service", NAME, "-o", "jsonpath={.spec.clusterIP}"]);
    url = `http://${address}:8080`;
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  test("a Pod answers its first sessions, and the next ones", async () => {
    const [other, pod] = servers();
    if (other === undefined || pod === undefined) throw new Error("there are not two servers");
    // This process, too, is slow at first.
    await playAtOnce(other);
    const [first, next] = [await playAtOnce(pod), await playAtOnce(pod)];
    const [cold, warm] = [first, next].map((times) => `${Math.round(Math.max(...times))} ms`);
    process.stderr.write(`${AT_ONCE} sessions at once on a Pod: the slowest took ${cold}, of the next ones ${warm}\n`);
  });

  test("four kinds of clients lose nothing while servers are updated, killed, drained and removed", async () => {
    await using vector = startVector(url);
    await using python = await startPlayers(ours.path, "vector", url);
    await using named = await startPlayers(stock.path, "named", url);
    await using plain = await startPlayers(stock.path, "plain", url);
    const players = [vector, python, named, plain];
    await vector.continues();
    await cluster.kubectl(["rollout", "restart", `deployment/${NAME}`]);
    await cluster.kubectl(["rollout", "status", `deployment/${NAME}`, "--timeout=120s"]);
    // Pods that stop are still there, and are the oldest.
    const pod = servers().at(-1);
    const [pid] = pod?.pids ?? [];
    if (pod === undefined || pid === undefined) throw new Error("no server has a process");
    process.kill(pid, "SIGKILL");
    await expect.poll(() => pod.restarts, { timeout: 20_000 }).toBe(1);
    await cluster.kubectl(["rollout", "status", `deployment/${NAME}`, "--timeout=120s"]);
    await vector.continues();
    await cluster.kubectl(["apply", "-f", "-"], renderYaml(secret("operator-two")));
    await cluster.kubectl(["rollout", "restart", `deployment/${NAME}`]);
    await cluster.kubectl(["rollout", "status", `deployment/${NAME}`, "--timeout=120s"]);
    await expect.poll(() => servers().length, { timeout: 60_000 }).toBe(2);
    const [evicted] = servers();
    if (evicted === undefined) throw new Error("no server can be evicted");
    expect(await scrape(evicted, "operator-two")).toBe(200);
    expect(await scrape(evicted, "operator-one")).toBe(401);
    const { node } = evicted;
    const selector = "app.kubernetes.io/component=server";
    try {
      await cluster.kubectl(["drain", node, "--delete-emptydir-data", `--pod-selector=${selector}`]);
    } finally {
      await cluster.kubectl(["uncordon", node]);
    }
    await expect.poll(servers, { timeout: 20_000 }).not.toContain(evicted);
    await cluster.kubectl(["scale", `deployment/${NAME}`, "--replicas=3"]);
    await cluster.kubectl(["rollout", "status", `deployment/${NAME}`, "--timeout=120s"]);
    await cluster.kubectl(["scale", `deployment/${NAME}`, "--replicas=1"]);
    await expect.poll(() => servers().length, { timeout: 60_000 }).toBe(1);
    await vector.continues();
    const all = await Promise.all(players.map((one) => one.end()));
    for (const seen of all.slice(0, 3)) expect(seen).toMatchObject({ lost: 0, wrong: [], errors: [] });
    for (const seen of all) {
      expect(seen.wrong).toEqual([]);
      expect(seen.episodes).toBeGreaterThan(3);
    }
  });
});

describe.skipIf(!isHere || !prometheus.available)("an autoscaler", { timeout: 300_000 }, () => {
  test("adds servers when sessions fill them, and removes the one with the fewest sessions first", async () => {
    await using project = await createProject({ "environment.mjs": WHERE });
    const environment = `${project.dir}/environment.mjs`;
    await using cluster = await startCluster({
      kubectl: kubectl.path,
      envoy: envoy.path,
      redis: redis.path,
      environment,
    });
    const files = renderTarget("kubernetes", parseTopology({ ...TOPOLOGY, capacity: 8, maxNodes: 4 }));
    const token = "of-the-operator";
    await cluster.kubectl(["apply", "-f", "-"], renderYaml(secret(token)));
    for (const file of pipedFiles("kubernetes", files)) await cluster.kubectl(["apply", "-f", "-"], files[file] ?? "");
    const { rules } = parseDocument(files["monitoring/prometheus-adapter.values.yaml"] ?? "").toJS();
    const job = parseDocument(files["monitoring/prometheus.scrape.yaml"] ?? "").toJS();
    await using _adapter = await startMetricsAdapter(cluster, {
      prometheus: prometheus.path,
      job,
      rule: rules.custom[0],
      token,
    });
    for (const what of [NAME, `${NAME}-balancer`, `${NAME}-deletion-costs`]) {
      await cluster.kubectl(["rollout", "status", `deployment/${what}`, "--timeout=120s"]);
    }
    const servers = () => cluster.kubelet.pods("server");
    const countAt = async ({ address }: { address: string }) => {
      const answer = await fetch(`http://${address}:8000/metrics`, { headers: { authorization: `Bearer ${token}` } });
      return Number(/^openenv_sessions\{[^}]*\} (\d+)$/m.exec(await answer.text())?.[1]);
    };
    // The autoscaler sets the number.
    await expect.poll(() => servers().length, { timeout: 60_000 }).toBe(2);
    await cluster.kubectl(["rollout", "status", `deployment/${NAME}`, "--timeout=120s"]);
    const before = servers();
    const url = `http://${await cluster.kubectl(["get", "service", NAME, "-o", "jsonpath={.spec.clusterIP}"])}:8080`;
    // Two balancers do not know what the other one does, so one server may be full before the other.
    const open = async (): Promise<EnvClient> => {
      const env = await connect(url);
      const opened = await env.tryReset();
      if (opened.outcome === "ok") return env;
      await env.close();
      return open();
    };
    const early: EnvClient[] = [];
    for (let count = 0; count < 15; count++) early.push(await open());
    await expect.poll(() => servers().length, { timeout: 120_000 }).toBe(3);
    await cluster.kubectl(["rollout", "status", `deployment/${NAME}`, "--timeout=120s"]);

    // The newest would be removed first, if there was no deletion cost.
    const newest = servers().find(({ name }) => !before.some((old) => old.name === name));
    if (newest === undefined) throw new Error("no server was added");
    const late: EnvClient[] = [];
    while (late.length < 2) {
      const env = await open();
      ((await countAt(newest)) > late.length ? late : early).push(env);
    }
    for (const env of early) await env.close();
    const fast = {
      scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: "Pods", value: 1, periodSeconds: 15 }] },
    };
    await cluster.kubectl(["patch", "hpa", NAME, "--type=merge", "-p", JSON.stringify({ spec: { behavior: fast } })]);
    await expect.poll(() => servers().length, { timeout: 120_000 }).toBe(2);
    expect(servers()).toContain(newest);
    for (const env of late) {
      expect((await env.step({ amount: 1 })).observation).toMatchObject({ count: 1 });
      await env.close();
    }
  });
});

/** The milliseconds of sessions that connect, reset and step once, all at the same time. */
async function playAtOnce({ address }: { address: string }): Promise<number[]> {
  const play = async (): Promise<number> => {
    const since = performance.now();
    await using env = await connect(`http://${address}:8000`);
    await env.reset();
    expect((await env.step({ amount: 1 })).observation).toMatchObject({ count: 1 });
    return performance.now() - since;
  };
  return Promise.all(Array.from({ length: AT_ONCE }, play));
}

/** The status of a server's metrics for a token of the operator. */
async function scrape({ address }: { address: string }, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`http://${address}:8000/metrics`, { headers })).status;
}

function secret(token: string): object {
  const metadata = { name: `${NAME}-tokens` };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData: { OPENENV_OPERATOR_TOKEN: token } };
}

/** The volume that the claim of the journal gets. */
function volume(name: string): object {
  const spec = { capacity: { storage: "4Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/tmp" } };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: { ...spec, persistentVolumeReclaimPolicy: "Delete" },
  };
}

/** Plays episodes with our client until `end()`. */
function startVector(url: string) {
  const seen: Seen = { steps: 0, episodes: 0, lost: 0, wrong: [], errors: [] };
  let isOver = false;
  const playing = (async () => {
    await using envs = await connectVector(url, { size: 4, resume: true, timeoutMs: 120_000 });
    while (!isOver) {
      await envs.reset();
      seen.episodes++;
      for (let number = 1; number <= EPISODE; number++) {
        for (const result of await envs.step(Array.from({ length: 4 }, () => ({ amount: 1 })))) {
          const count = (result?.observation as { count?: number } | undefined)?.count;
          if (result?.outcome === "lost") {
            seen.lost++;
            seen.errors.push(String(result.error));
          } else {
            seen.steps++;
            if (count !== number) seen.wrong.push([count ?? -1, number]);
          }
        }
        await sleep(20);
      }
    }
  })();
  return {
    /** Resolves when three more episodes have begun. */
    async continues(): Promise<void> {
      const before = seen.episodes;
      await expect.poll(() => seen.episodes, { timeout: 60_000 }).toBeGreaterThan(before + 2);
    },
    async end(): Promise<Seen> {
      isOver = true;
      await playing;
      return seen;
    },
    [Symbol.asyncDispose]: async () => void (isOver = true),
  };
}
