import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { callCommand, createProject } from "../../../../test-support/commands/command-line.js";
import { TARGETS } from "../../../deploy/src/targets.js";

const TOPOLOGY = "name: echo\nimage: echo:1\nnodes: 3\nworkers: 2\nbalancer: { kind: envoy }\n";

test("one file goes to standard output as it is", async () => {
  await using project = await createProject();
  const args = ["deploy", "render", "--target", "haproxy", "--backend", "10.0.0.5:8000", "--backend", "10.0.0.6:8000"];
  const { code, stdout } = await callCommand(args, { cwd: project.dir });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^# HAProxy for the servers of openenv: 2 x 1 workers x 100 sessions\./);
  expect(stdout.trimEnd().split("\n").slice(-2)).toEqual([
    "    server env1 10.0.0.5:8000",
    "    server env2 10.0.0.6:8000",
  ]);
});

test("a topology file is rendered into a folder, and options win over it", async () => {
  await using project = await createProject({ "topology.yaml": TOPOLOGY });
  const args = ["deploy", "render", "--target", "compose", "--topology", "topology.yaml", "--nodes", "5", "-o", "out"];
  const { code, stdout } = await callCommand([...args, "--json"], { cwd: project.dir });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual(["compose.yaml", "envoy.yaml", "envoy.sh"].map((file) => join("out", file)));
  const text = await readFile(join(project.dir, "out/compose.yaml"), "utf8");
  expect(text).toContain("scale: 5");
  expect(text).toContain('WORKERS: "2"');
});

test("a directory that Compose builds is named as its file sees it", async () => {
  await using project = await createProject();
  const render = async (...args: string[]): Promise<string> => {
    const { stdout } = await callCommand(["deploy", "render", "--target", "compose", ...args], { cwd: project.dir });
    return stdout;
  };
  expect(await render("--directory", "./my-env")).toMatch(/context: \.\/my-env\n\s+dockerfile: server\/Dockerfile\n/);
  const build = async (folder: string): Promise<string | undefined> =>
    /context: "?([^"\n]*)/.exec(await readFile(join(project.dir, folder, "compose.yaml"), "utf8"))?.[1];
  await render("--directory", "./my-env", "-o", "out/compose");
  expect(await build("out/compose")).toBe("../../my-env");
  await render("--directory", ".", "-o", ".");
  expect(await build(".")).toBe(".");
  await render("--directory", "/srv/my-env", "-o", "out");
  expect(await build("out")).toBe("/srv/my-env");
});

test("files that were edited are kept unless an option replaces them", async () => {
  await using project = await createProject({ "topology.yaml": TOPOLOGY, "out/envoy.yaml": "mine" });
  const args = ["deploy", "render", "--target", "compose", "--topology", "topology.yaml", "-o", "out"];
  const refused = await callCommand(args, { cwd: project.dir });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("exists with different content") });
  expect(await readdir(join(project.dir, "out"))).toEqual(["envoy.yaml"]);
  expect(await callCommand([...args, "--force"], { cwd: project.dir })).toMatchObject({ code: 0 });
  expect(await callCommand(args, { cwd: project.dir })).toMatchObject({ code: 0 });
});

test.each([
  ["compose", ["compose.yaml", "haproxy.cfg"]],
  ["swarm", ["stack.yaml", "haproxy.cfg"]],
  ["slurm", ["job.sbatch"]],
])("%s: the main file is printed alone, a note names the others, and JSON has all", async (target, names) => {
  await using project = await createProject();
  const args = ["deploy", "render", "--target", target, "--image", "echo:1"];
  const { stdout, stderr } = await callCommand(args, { cwd: project.dir });
  const { stdout: json } = await callCommand([...args, "--json"], { cwd: project.dir });
  const files = JSON.parse(json);
  expect(Object.keys(files)).toEqual(names);
  expect(stdout).toBe(files[names[0] as string]);
  expect(stderr).toBe(names.length === 1 ? "" : `not printed: ${names[1]}. Write all files with -o <dir>.\n`);
});

test("kubectl gets a stream of every manifest and nothing else, and a folder that it can apply", async () => {
  const topology = "name: echo\nimage: echo:1\nmaxNodes: 4\njournal: redis\n";
  await using project = await createProject({ "topology.yaml": topology });
  const args = ["deploy", "render", "--target", "kubernetes", "--topology", "topology.yaml"];
  const { stdout, stderr } = await callCommand(args, { cwd: project.dir });
  expect(stderr).toBe(
    "not printed: monitoring/prometheus.scrape.yaml, monitoring/prometheus-adapter.values.yaml. Write all files with -o <dir>.\n",
  );
  const kinds = (text: string): string[] => parseAllDocuments(text).map((one) => one.toJS().kind);
  const printed = kinds(stdout);
  expect(printed).toHaveLength(19);
  expect(printed).not.toContain(undefined);
  await callCommand([...args, "-o", "out"], { cwd: project.dir });
  // Like kubectl apply -f out, which does not read the folders in it.
  const entries = await readdir(join(project.dir, "out"), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(project.dir, "out", name));
  const written = await Promise.all(files.map(async (file) => kinds(await readFile(file, "utf8"))));
  expect(written.flat().toSorted()).toEqual(printed.toSorted());
  expect(await readdir(join(project.dir, "out/monitoring"))).toHaveLength(2);
});

test.each([
  [["--target", "compose", "--topology", "none.yaml"], /No topology file at none\.yaml: check the path/],
  [["--target", "compose", "--topology", "list.yaml"], /list\.yaml is not a topology/],
  [["--target", "compose", "--topology", "broken.yaml"], /Cannot read the topology broken\.yaml: .*line/],
  [["--target", "compose", "--topology", "wrong.yaml"], /nodez/],
  [
    ["--target", "envoy", "--balancer", "haproxy", "--backend", "10.0.0.5:8000"],
    /--target envoy conflicts with --balancer haproxy: omit --balancer/,
  ],
  [
    ["--target", "haproxy", "--nodes", "5", "--backend", "10.0.0.5:8000"],
    /--nodes is 5, but the number of --backend options is 1: omit --nodes/,
  ],
  [["--target", "moon"], /Allowed choices are compose, swarm, kubernetes, slurm, envoy, haproxy, monitoring/],
  [["--target", "compose", "--topology", "nginx.yaml"], /balancer\.kind: must be one of envoy, haproxy/],
  [[], /--target/],
  [["--target", "kubernetes"], /needs an image/],
])("%j ends with 2 and one line that says what to do", async (args, message) => {
  await using project = await createProject({
    "list.yaml": "- a\n",
    "broken.yaml": "a: [\n",
    "wrong.yaml": "nodez: 3\n",
    "nginx.yaml": "image: a:1\nbalancer: { kind: nginx }\n",
  });
  const { code, stderr } = await callCommand(["deploy", "render", ...args], { cwd: project.dir });
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test("the help names every target and has examples", async () => {
  await using project = await createProject();
  const { stdout } = await callCommand(["deploy", "render", "--help"], { cwd: project.dir });
  for (const target of TARGETS) expect(stdout).toContain(`"${target}"`);
  expect(stdout).toContain("Examples:");
});
