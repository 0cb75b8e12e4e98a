/** A namespace of a real control plane whose nodes run the Pods of `openenv deploy render` as processes. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { renderYaml } from "../../packages/deploy/src/yaml.js";
import { ClusterApi } from "./api.js";
import { type Kubelet, startKubelet } from "./kubelet.js";
import type { FindProgram } from "./pod.js";
import { startServices } from "./services.js";

export interface Programs {
  kubectl: string;
  envoy: string;
  redis: string;
  /** The folder of the environment that servers serve. */
  environment: string;
}

export interface Cluster extends AsyncDisposable {
  readonly api: ClusterApi;
  readonly kubelet: Kubelet;
  readonly namespace: string;
  /** Runs kubectl in the namespace. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
}

const CLI = join(import.meta.dirname, "../../packages/cli/bin/openenv.js");

export async function startCluster(programs: Programs): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "openenv-cluster-"));
  const started: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    const ended = [];
    for (const end of started.toReversed()) ended.push(...(await Promise.allSettled([end()])));
    const reasons = ended.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    if (reasons.length > 0) throw new AggregateError(reasons, "the cluster of the tests did not end");
  };
  try {
    const api = await ClusterApi.of(programs.kubectl);
    const namespace = `openenv-${randomUUID().slice(0, 8)}`;
    const kubectl = async (args: readonly string[], input = ""): Promise<string> => {
      const running = promisify(execFile)(programs.kubectl, ["--namespace", namespace, ...args], {
        maxBuffer: 1 << 24,
      });
      running.child.stdin?.end(input);
      return (await running).stdout;
    };
    const metadata = { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } };
    await kubectl(["apply", "-f", "-"], renderYaml({ apiVersion: "v1", kind: "Namespace", metadata }));
    const hosts = join(folder, "hosts");
    const services = await startServices(api, { namespace, hosts });
    started.push(() => services[Symbol.asyncDispose]());
    const kubelet = await startKubelet(api, { namespace, hosts, find: programOf(programs, services.dnsPort) });
    started.push(
      () => kubelet[Symbol.asyncDispose](),
      () => kubectl(["delete", "namespace", namespace, "--wait=false"]),
    );
    return { api, kubelet, namespace, kubectl, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the images of the rendered files run here. */
function programOf({ envoy, redis, environment }: Programs, dnsPort: number): FindProgram {
  return ({ image = "", name, args = [], command = [] }, pod) => {
    if (image.startsWith("envoyproxy/envoy:")) {
      const places = args.map((arg) => pod.place(arg));
      return {
        command: [envoy, ...places, "--use-dynamic-base-id", "--log-level", "warn", "--config-yaml", resolver(dnsPort)],
      };
    }
    if (image.startsWith("redis:")) {
      const [, ...rest] = args;
      const own = ["--bind", pod.address, "--dir", pod.place("/data"), "--protected-mode", "no"];
      return { command: [redis, ...rest, ...own] };
    }
    if (image.startsWith("registry.k8s.io/pause:")) return { command: ["sleep", "infinity"] };
    if (command.length > 0) return { command: command.map((part) => pod.place(part)) };
    return { command: [process.execPath, CLI, "serve", environment], env: { HOST: pod.address, HOSTNAME: name } };
  };
}

/** Envoy's names come from the DNS server of the cluster. */
function resolver(port: number): string {
  return JSON.stringify({
    typed_dns_resolver_config: {
      name: "envoy.network.dns_resolver.cares",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
        resolvers: [{ socket_address: { address: "127.0.0.1", port_value: port } }],
        dns_resolver_options: { no_default_search_domain: true },
      },
    },
  });
}

/** What players.py saw. */
export interface Seen {
  steps: number;
  episodes: number;
  lost: number;
  wrong: [count: number, expected: number][];
  errors: string[];
}

/** Starts a Python client that plays until `end()`. Kinds: `vector` (ours), `named` and `plain` (the released package). */
export async function startPlayers(python: string, kind: "vector" | "named" | "plain", url: string) {
  const child: ChildProcess = spawn(python, [join(import.meta.dirname, "players.py"), kind, url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (part: string) => (text += part));
  if (child.stdout) await once(child.stdout, "data");
  return {
    async end(): Promise<Seen> {
      const ended = once(child, "close");
      child.stdin?.end();
      await ended;
      return JSON.parse(text.trim().split("\n").at(-1) ?? "") as Seen;
    },
    [Symbol.asyncDispose]: async () => void child.kill("SIGKILL"),
  };
}
