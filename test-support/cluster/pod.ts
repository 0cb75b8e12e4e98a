/** One Pod of the tests: its containers are processes on an address of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Container, V1Pod, V1Probe } from "@kubernetes/client-node";
import type { ClusterApi, ClusterObject } from "./api.js";

/** What a container runs, in place of its image. */
export interface Program {
  command: readonly string[];
  env?: Record<string, string>;
}

/** Returns the program of a container; `place` replaces the beginning of a path in the container by that on this machine. */
export type FindProgram = (
  container: V1Container,
  pod: { address: string; place: (path: string) => string },
) => Program;

export type ClusterPod = V1Pod & ClusterObject;

interface Running {
  readonly spec: V1Container;
  child: ChildProcess | undefined;
  started: boolean;
  ready: boolean;
  restarts: number;
  readonly output: string[];
}

/** The pause after a container has ended, before it starts again. */
const RESTART_MS = 1_000;

export class RunningPod {
  readonly address: string;
  readonly #pod: ClusterPod;
  readonly #api: ClusterApi;
  readonly #hosts: string;
  readonly #find: FindProgram;
  readonly #containers: Running[];
  readonly #ended = new AbortController();
  #folder = "";
  #stopping: Promise<void> | undefined;
  #reported: Promise<void> = Promise.resolve();

  constructor(pod: ClusterPod, own: { api: ClusterApi; address: string; hosts: string; find: FindProgram }) {
    this.#pod = pod;
    this.#api = own.api;
    this.address = own.address;
    this.#hosts = own.hosts;
    this.#find = own.find;
    this.#containers = pod.spec?.containers.map(newContainer) ?? [];
  }

  get name(): string {
    return this.#pod.metadata.name;
  }

  /** What the Pod is in its deployment: `server`, `balancer`, `journal`. */
  get component(): string | undefined {
    return this.#pod.metadata.labels?.["app.kubernetes.io/component"];
  }

  get node(): string {
    return this.#pod.spec?.nodeName ?? "";
  }

  /** The containers that have ended and were started again. */
  get restarts(): number {
    return this.#containers.reduce((sum, { restarts }) => sum + restarts, 0);
  }

  get pids(): number[] {
    return this.#containers.flatMap(({ child }) => child?.pid ?? []);
  }

  get #namespace(): string {
    return `/api/v1/namespaces/${this.#pod.metadata.namespace}`;
  }

  get #path(): string {
    return `${this.#namespace}/pods/${this.name}`;
  }

  /** Starts the init containers one after the other, then the containers, and keeps them running. */
  async start(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), "openenv-pod-"));
    await this.#makeVolumes();
    for (const spec of this.#pod.spec?.initContainers ?? []) {
      const init = newContainer(spec);
      const child = await this.#spawn(init);
      if (child === undefined) return;
      const [code] = await once(child, "exit");
      if (code !== 0) throw new Error(`the init container ${spec.name} ended with ${code}: ${init.output.join("")}`);
    }
    for (const container of this.#containers) void this.#keepRunning(container);
    await this.#report();
  }

  /** Does what a kubelet does when a Pod is removed: preStop, SIGTERM, SIGKILL when the grace period is over. */
  stop(graceSeconds = this.#pod.spec?.terminationGracePeriodSeconds ?? 30): Promise<void> {
    this.#stopping ??= this.#stop(graceSeconds);
    return this.#stopping;
  }

  async #stop(graceSeconds: number): Promise<void> {
    const deadline = sleep(graceSeconds * 1000, undefined, { signal: this.#ended.signal }).catch(() => {});
    await Promise.all(
      this.#containers.map(async ({ spec, child }) => {
        if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, "exit");
        const pause = spec.lifecycle?.preStop?.sleep?.seconds ?? 0;
        await Promise.race([sleep(pause * 1000), exited, deadline]);
        child.kill("SIGTERM");
        await Promise.race([exited, deadline]);
        child.kill("SIGKILL");
      }),
    );
    this.#ended.abort();
    const { uid } = this.#pod.metadata;
    await this.#api.find("DELETE", this.#path, { gracePeriodSeconds: 0, preconditions: { uid } });
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #keepRunning(container: Running): Promise<void> {
    while (this.#stopping === undefined) {
      const child = await this.#spawn(container);
      if (child === undefined) return;
      const over = new AbortController();
      const { startupProbe, readinessProbe, livenessProbe } = container.spec;
      void (async () => {
        await this.#probe(
          startupProbe,
          over.signal,
          (isOk) => isOk,
          () => child.kill("SIGKILL"),
        );
        if (over.signal.aborted) return;
        container.started = true;
        if (readinessProbe === undefined) await this.#setReady(container, true);
        void this.#probe(readinessProbe, over.signal, (isOk) => void this.#setReady(container, isOk));
        void this.#probe(
          livenessProbe,
          over.signal,
          () => {},
          () => child.kill("SIGTERM"),
        );
      })();
      await once(child, "exit");
      over.abort();
      Object.assign(container, { started: false, ready: false, child: undefined });
      if (this.#stopping === undefined) container.restarts++;
      await this.#report();
      if (this.#stopping !== undefined) return;
      await sleep(RESTART_MS);
    }
  }

  /** Repeats a probe until it ends, or until `onResult` returns true. `onFailure` is called after the last allowed failure. */
  async #probe(
    probe: V1Probe | undefined,
    signal: AbortSignal,
    onResult: (isOk: boolean) => boolean | undefined,
    onFailure?: () => void,
  ): Promise<void> {
    if (probe === undefined) return;
    let failures = 0;
    while (!signal.aborted && this.#stopping === undefined) {
      const isOk = await this.#check(probe);
      failures = isOk ? 0 : failures + 1;
      if (isOk || failures >= (probe.failureThreshold ?? 3)) {
        if (!isOk) onFailure?.();
        if (onResult(isOk) === true) return;
      }
      await sleep((probe.periodSeconds ?? 10) * 1000, undefined, { signal }).catch(() => {});
    }
  }

  #check({ httpGet, tcpSocket, timeoutSeconds = 1 }: V1Probe): Promise<boolean> {
    const port = this.#portOf((httpGet ?? tcpSocket)?.port);
    const options = { host: this.address, port, timeout: timeoutSeconds * 1000 };
    return new Promise((resolve) => {
      if (tcpSocket !== undefined) {
        const socket = connect(options, () => resolve(true));
        socket.on("error", () => resolve(false)).on("timeout", () => resolve(false));
        socket.on("connect", () => socket.destroy());
        return;
      }
      const asked = get({ ...options, path: httpGet?.path ?? "/", agent: false }, (response) => {
        response.resume();
        const status = response.statusCode ?? 500;
        resolve(status >= 200 && status < 400);
      });
      asked.on("error", () => resolve(false)).on("timeout", () => asked.destroy());
    });
  }

  #portOf(port: unknown): number {
    const named = this.#containers.flatMap(({ spec }) => spec.ports ?? []).find(({ name }) => name === port);
    return named?.containerPort ?? Number(port);
  }

  async #setReady(container: Running, ready: boolean): Promise<void> {
    if (container.ready === ready) return;
    container.ready = ready;
    await this.#report();
  }

  /** Reports the state of the Pod, one report after the other. */
  #report(): Promise<void> {
    this.#reported = this.#reported.then(() => this.#send());
    return this.#reported;
  }

  async #send(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const isReady = this.#containers.every(({ ready }) => ready);
    const condition = (type: string, is: boolean) => ({ type, status: is ? "True" : "False" });
    const now = new Date().toISOString().replace(/\.\d+/, "");
    const status = {
      phase: "Running",
      podIP: this.address,
      podIPs: [{ ip: this.address }],
      startTime: now,
      conditions: [
        condition("PodScheduled", true),
        condition("Initialized", true),
        condition("ContainersReady", isReady),
        condition("Ready", isReady),
      ],
      containerStatuses: this.#containers.map(({ spec, started, ready, restarts }) => ({
        ...{ name: spec.name, image: spec.image, imageID: "", started, ready, restartCount: restarts },
        state: { running: { startedAt: now } },
      })),
    };
    await this.#api.find("PATCH", `${this.#path}/status`, { status });
  }

  async #spawn(container: Running): Promise<ChildProcess | undefined> {
    const place = (path: string): string => this.#place(container.spec, path);
    const { command, env } = this.#find(container.spec, { address: this.address, place });
    const variables = await this.#environment(container.spec);
    // Nobody would end a process that starts after the Pod was stopped.
    if (this.#stopping !== undefined) return undefined;
    const [program = "", ...args] = ["unshare", "--mount", "sh", "-c", INSIDE, this.#hosts, ...command];
    const child = spawn(program, args, {
      env: { PATH: process.env["PATH"], ...variables, ...env, TMPDIR: place("/tmp") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => void container.output.push(text));
    }
    container.child = child;
    return child;
  }

  async #environment(container: V1Container): Promise<Record<string, string>> {
    const all: Record<string, string> = { ...this.#api.variables };
    for (const { secretRef } of container.envFrom ?? []) Object.assign(all, await this.#readSecret(secretRef?.name));
    for (const { name, value = "", valueFrom } of container.env ?? []) {
      const { name: secret, key = "" } = valueFrom?.secretKeyRef ?? {};
      all[name] = secret === undefined ? this.#place(container, value) : ((await this.#readSecret(secret))[key] ?? "");
    }
    return all;
  }

  async #readSecret(name: string | undefined): Promise<Record<string, string>> {
    const secret = await this.#api.find<{ data?: Record<string, string> }>("GET", `${this.#namespace}/secrets/${name}`);
    const entries = Object.entries(secret?.data ?? {});
    return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
  }

  /** Writes the files of config maps and of the Pod's account, and makes the empty folders. */
  async #makeVolumes(): Promise<void> {
    for (const { name, configMap, projected, secret } of this.#pod.spec?.volumes ?? []) {
      const folder = join(this.#folder, name);
      await mkdir(folder, { recursive: true });
      if (configMap !== undefined) {
        const { data = {} } = await this.#api.ask<{ data?: Record<string, string> }>(
          "GET",
          `${this.#namespace}/configmaps/${configMap.name}`,
        );
        for (const [file, text] of Object.entries(data)) {
          // All addresses of a container, and its loopback, are one address here.
          const own = text.replaceAll(/\b(?:0\.0\.0\.0|127\.0\.0\.1)\b/g, this.address);
          await writeFile(join(folder, file), own);
        }
      }
      if (projected !== undefined) await this.#writeAccount(folder);
      for (const [file, text] of Object.entries(secret ? await this.#readSecret(secret.secretName) : {})) {
        await writeFile(join(folder, file), text);
      }
    }
  }

  async #writeAccount(folder: string): Promise<void> {
    const account = `${this.#namespace}/serviceaccounts/${this.#pod.spec?.serviceAccountName}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { status } = await this.#api.ask<{ status: { token: string } }>("POST", account, request);
    await writeFile(join(folder, "token"), status.token);
    await writeFile(join(folder, "namespace"), this.#pod.metadata.namespace ?? "");
  }

  #place({ volumeMounts = [] }: V1Container, path: string): string {
    const mount = volumeMounts.find(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`));
    return mount === undefined ? path : join(this.#folder, mount.name, path.slice(mount.mountPath.length));
  }
}

/** Gives a process the hosts file of the cluster. `$0` is the file, the rest is its command. */
const INSIDE = 'mount --bind "$0" /etc/hosts && exec "$@"';

function newContainer(spec: V1Container): Running {
  return { spec, child: undefined, started: false, ready: false, restarts: 0, output: [] };
}
