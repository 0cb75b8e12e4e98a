import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { processProvider } from "@openenv-ts/providers";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
} from "../../../../test-support/commands/command-line.js";
import { buildImage, SERVERS } from "../../../../test-support/commands/images.js";
import { requireDocker } from "../../../../test-support/requirement.js";
import { until } from "../../../../test-support/servers/cluster.js";
import { renderLabels } from "../../../providers/src/docker/labels.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 120_000 });

const docker = await requireDocker();
const run = promisify(execFile);
const PACKAGE = join(import.meta.dirname, "../..");

interface Row {
  id: string;
  provider: string;
  source: string;
  url: string | null;
  owner: { pid: number; alive: boolean };
}

test("what a live process has started is shown, and prune leaves it alone", async () => {
  await using project = await createProject({ "environment.ts": counterModule() });
  await using started = await processProvider().start({ directory: project.dir });
  const rows = (await list(project)).filter(({ owner }) => owner.pid === process.pid);
  expect(rows).toMatchObject([{ provider: "process", source: project.dir, url: started.url, owner: { alive: true } }]);
  const { stdout, stderr } = await callCommand(["ps"], { cwd: project.dir });
  expect(stdout).toMatch(/^ID +PROVIDER +SOURCE +URL +AGE +OWNER/);
  expect(stderr).toMatch(/^Not listed: .*Compose, Kubernetes, Slurm or a shell; see `openenv fleet status`\.$/m);
  await callCommand(["prune"], { cwd: project.dir });
  expect((await fetch(`${started.url}/health`)).ok).toBe(true);
});

test("a process whose caller and guard were killed is shown as left, and removed by prune", async () => {
  await using project = await createProject({ "environment.mjs": STUBBORN });
  const pid = await killWithGuard(`processProvider().start({ directory: ${JSON.stringify(project.dir)} })`);
  await expectPruned(project, pid, "process");
});

test.skipIf(!docker.available)("a container whose caller and guard were killed is removed by prune", async () => {
  await using project = await createProject();
  await using image = await buildImage(docker.path, SERVERS.counter);
  const pid = await killWithGuard(`dockerProvider().start({ image: ${JSON.stringify(image.name)} })`);
  await expectPruned(project, pid, "docker");
});

test.skipIf(!docker.available)(
  "a network whose maker is gone is removed by prune, also one in use by then",
  async () => {
    await using project = await createProject();
    const name = `openenv-test-${process.pid}`;
    const labels = { ...renderLabels("docker", "a package"), "openenv.pid-start": "0" };
    const marks = Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]);
    await run(docker.path, ["network", "create", "--internal", ...marks, name]);
    await run(docker.path, [
      "run",
      "--detach",
      "--network",
      name,
      ...marks,
      "node:20-slim",
      "node",
      "-e",
      "setInterval(Date, 1e3)",
    ]);
    const { code, stdout } = await callCommand(["prune", "--json"], { cwd: project.dir });
    const removed = (JSON.parse(stdout) as Row[]).filter(({ owner }) => owner.pid === process.pid);
    expect([code, removed.length]).toEqual([0, 2]);
    expect((await run(docker.path, ["network", "ls", "--quiet", "--filter", `name=${name}`])).stdout).toBe("");
  },
);

test.each([
  ["does not answer", "unix:///nonesuch.sock", /not checked: Could not connect to a container engine/],
  ["cannot be asked this way", "ssh://me@elsewhere", /not checked: The engine address ssh:.* is not supported/],
])("an engine that %s is a note, and the processes are shown", async (_how, host, note) => {
  await using project = await createProject();
  const env = { DOCKER_HOST: host, OPENENV_STATE_DIR: project.dir };
  const { code, stdout, stderr } = await callCommand(["ps"], { cwd: project.dir, env });
  expect([code, stdout]).toEqual([0, "No running servers.\n"]);
  expect(stderr).toMatch(note);
});

test.each(["ps", "prune"])("an engine that answers oddly is one line of %s", async (name) => {
  const engine = createServer((_, response) => {
    response.writeHead(500).end('{"message":"its store is broken"}');
  });
  engine.listen(0, "127.0.0.1");
  await once(engine, "listening");
  onTestFinished(() => void engine.close());
  await using project = await createProject();
  const host = `tcp://127.0.0.1:${(engine.address() as AddressInfo).port}`;
  const env = { DOCKER_HOST: host, KUBECONFIG: "", OPENENV_STATE_DIR: project.dir };
  const { code, stderr } = await callCommand([name], { cwd: project.dir, env });
  expect(code).toBe(0);
  expect(stderr.match(/not checked: .*its store is broken/g)).toHaveLength(1);
});

test.each(["ps", "prune"])("commands of Slurm that know no cluster are one line of %s", async (name) => {
  const said = ["error: fetch_config: DNS SRV lookup failed", "fatal: Could not establish a configuration source"];
  const script = ["#!/bin/sh", ...said.map((line) => `echo 'squeue: ${line}' >&2`), "exit 1"].join("\n");
  await using project = await createProject({ "bin/squeue": script });
  await chmod(join(project.dir, "bin/squeue"), 0o755);
  const env = {
    PATH: `${project.dir}/bin:${process.env["PATH"]}`,
    SLURM_CONF: "",
    KUBECONFIG: "",
    DOCKER_HOST: "unix:///nonesuch.sock",
    OPENENV_STATE_DIR: project.dir,
  };
  const { code, stderr } = await callCommand([name], { cwd: project.dir, env });
  expect(code).toBe(0);
  const lines = stderr
    .trim()
    .split("\n")
    .filter((line) => !/nonesuch\.sock|^Not listed: /.test(line));
  expect(lines).toEqual([expect.stringMatching(/not checked: .*squeue: Could not establish a configuration source\./)]);
});

test("a guard finds what its killed caller wrote down in a folder that is named from where that was", async () => {
  await using project = await createProject({ "environment.mjs": STUBBORN });
  const state = join(project.dir, "state");
  const start = `processProvider().start({ directory: ${JSON.stringify(project.dir)} })`;
  await killCaller(start, { OPENENV_STATE_DIR: relative(PACKAGE, state) });
  await until(() => readdirSync(join(state, "processes")).length === 0);
});

test("a guard works where NODE_OPTIONS names a file from where its killed caller was", async () => {
  await using project = await createProject({ "environment.mjs": STUBBORN, "instrument.mjs": "" });
  const state = join(project.dir, "state");
  const start = `processProvider().start({ directory: ${JSON.stringify(project.dir)}, env: { NODE_OPTIONS: "" } })`;
  const NODE_OPTIONS = `--import ${relative(PACKAGE, join(project.dir, "instrument.mjs"))}`;
  await killCaller(start, { OPENENV_STATE_DIR: state, NODE_OPTIONS });
  await until(() => readdirSync(join(state, "processes")).length === 0);
});

test.each(["ps", "prune"])("%s has help with examples", async (name) => {
  await using project = await createProject();
  const { code, stdout } = await callCommand([name, "--help"], { cwd: project.dir });
  expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`Examples:\\n {2}openenv ${name}`))]);
});

/** Does not end when it is asked, nor when whoever started it is gone. */
const STUBBORN = `${counterModule().replace(/: number/g, "")}
  process.on("SIGTERM", () => {});
  setInterval(() => process.removeAllListeners("disconnect"), 1);
`;

/** Starts something in a process and kills that with its guard, so that nobody is left to remove it. Returns its number. */
async function killWithGuard(start: string): Promise<number> {
  return await killCaller(start, {}, async (pid) => {
    await until(() => findGuards(pid).length > 0);
    for (const guard of findGuards(pid)) process.kill(guard, "SIGKILL");
  });
}

async function killCaller(
  start: string,
  env: Record<string, string>,
  before: (pid: number) => Promise<void> = async () => {},
): Promise<number> {
  const script = `
    import { dockerProvider, processProvider } from "@openenv-ts/providers";
    await ${start};
    console.log("started");
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: PACKAGE,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const pid = child.pid as number;
  await before(pid);
  child.kill("SIGKILL");
  await once(child, "exit");
  return pid;
}

function findGuards(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        // Not one that has ended (Z, X) and waits for its parent to notice.
        const isChild = new RegExp(`\\) [^ZX] ${parent} `).test(readFileSync(`/proc/${pid}/stat`, "utf8"));
        return isChild && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("reaper-process");
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function expectPruned(project: Project, pid: number, provider: string): Promise<void> {
  const left = async (): Promise<Row[]> => (await list(project)).filter(({ owner }) => owner.pid === pid);
  const [row] = await left();
  expect(row).toMatchObject({ provider, owner: { alive: false } });
  const { code, stdout } = await callCommand(["prune", "--dry-run"], { cwd: project.dir });
  expect([code, stdout]).toEqual([0, expect.stringContaining(row?.id ?? "none")]);
  expect(await left()).toHaveLength(1);
  expect((await callCommand(["prune"], { cwd: project.dir })).code).toBe(0);
  expect(await left()).toEqual([]);
}

async function list(project: Project): Promise<Row[]> {
  const { stdout } = await callCommand(["ps", "--json"], { cwd: project.dir });
  return JSON.parse(stdout) as Row[];
}
