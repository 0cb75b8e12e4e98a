import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import {
  type DeployTarget,
  isBalancer,
  parseTopology,
  parseYaml,
  pipedFiles,
  type RenderedFiles,
  renderTarget,
  type Topology,
} from "@openenv-ts/deploy";
import { ConfigError, isObject } from "openenv-ts/internal";
import { exit, print, printNote } from "./output.js";

export interface DeployFlags {
  target: DeployTarget;
  topology?: string;
  name?: string;
  image?: string;
  directory?: string;
  nodes?: number;
  workers?: number;
  capacity?: number;
  spareNodes?: number;
  cpus?: number;
  memoryMb?: number;
  gpus?: number;
  balancer?: string;
  balancerPort?: number;
  balancerHost?: string;
  backend?: string[];
  outputDir?: string;
  force?: boolean;
  json?: boolean;
}

const MAX_TOPOLOGY_BYTES = 1_000_000;

export async function renderDeployment(flags: DeployFlags): Promise<void> {
  const topology = await readTopology(flags);
  rejectContradictions(flags, topology);
  const files = renderTarget(flags.target, placed(flags, topology), flags.backend);
  if (flags.outputDir === undefined && flags.json) print(JSON.stringify(files, null, 2));
  else if (flags.outputDir === undefined) pipe(flags.target, files);
  else {
    const paths = await writeFiles(files, flags.outputDir, flags.force ?? false);
    print(flags.json ? JSON.stringify(paths, null, 2) : paths.join("\n"));
  }
  exit(0);
}

/** Rejects options that contradict each other. An option overrides the value in the topology file. */
function rejectContradictions({ target, balancer, backend, nodes }: DeployFlags, { spareNodes }: Topology): void {
  if (isBalancer(target) && balancer !== undefined && balancer !== target) {
    throw new ConfigError(`--target ${target} conflicts with --balancer ${balancer}: omit --balancer.`);
  }
  // Envoy resolves one name to the addresses of all servers, and may get more servers later.
  if (target === "envoy" || backend === undefined || nodes === undefined || nodes + spareNodes === backend.length)
    return;
  throw new ConfigError(
    `--nodes${spareNodes > 0 ? " plus spareNodes" : ""} is ${nodes + spareNodes}, but the number of --backend options is ${backend.length}: omit --nodes, or pass one --backend for each server.`,
  );
}

/** Compose resolves paths relative to its file; Slurm relative to the folder where the job is submitted. */
function placed({ target, outputDir }: DeployFlags, topology: Topology): Topology {
  const { directory } = topology;
  if (target !== "compose" || outputDir === undefined || directory === undefined || isAbsolute(directory)) {
    return topology;
  }
  return { ...topology, directory: relative(outputDir, directory).split(sep).join("/") || "." };
}

/** The topology of the file, overridden by the options. */
async function readTopology(flags: DeployFlags): Promise<Topology> {
  const { name, nodes, workers, capacity, spareNodes, cpus, memoryMb, gpus } = flags;
  const given = flags.topology === undefined ? {} : await readTopologyFile(flags.topology);
  // A directory on the command line replaces the image of the file, and an image replaces its directory.
  const source = flags.image ?? flags.directory;
  return parseTopology({
    ...given,
    ...(source !== undefined && { image: undefined, directory: undefined }),
    ...defined({ name, image: flags.image, directory: flags.directory, nodes, workers, capacity, spareNodes }),
    resources: over(given["resources"], { cpus, memoryMb, gpus }),
    balancer: over(given["balancer"], { kind: flags.balancer, port: flags.balancerPort, host: flags.balancerHost }),
  });
}

export async function readTopologyFile(path: string): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    const { size } = await stat(path);
    if (size > MAX_TOPOLOGY_BYTES) throw new Error(`it has ${size} bytes, the limit is ${MAX_TOPOLOGY_BYTES}`);
    value = parseYaml(await readFile(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      throw new ConfigError(`No topology file at ${path}: check the path, or describe the deployment with options.`);
    }
    throw new ConfigError(`Cannot read the topology ${path}: ${(error as Error).message}`, { cause: error });
  }
  if (isObject(value)) return value;
  throw new ConfigError(`${path} is not a topology: it must be an object with keys such as image and nodes.`);
}

/** Merges flags into an object of the topology. parseTopology reports any other type. */
function over(given: unknown, flags: object): unknown {
  const set = defined(flags);
  if (Object.keys(set).length === 0) return given;
  return isObject(given) ? { ...given, ...set } : set;
}

function defined(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Prints what the tool of the target reads from standard input, and notes which files that leaves out. */
function pipe(target: DeployTarget, files: RenderedFiles): void {
  const names = pipedFiles(target, files);
  print(names.map((name) => files[name]).join("---\n"));
  const others = Object.keys(files).filter((name) => !names.includes(name));
  if (others.length > 0) printNote(`not printed: ${others.join(", ")}. Write all files with -o <dir>.`);
}

async function writeFiles(files: RenderedFiles, folder: string, force: boolean): Promise<string[]> {
  const entries = Object.entries(files).map(([name, text]) => ({ path: join(folder, name), text }));
  for (const { path, text } of force ? [] : entries) {
    if (existsSync(path) && (await readFile(path, "utf8")) !== text) {
      throw new ConfigError(
        `${path} exists with different content: choose another folder, or overwrite it with --force.`,
      );
    }
  }
  for (const { path, text } of entries) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return entries.map(({ path }) => path);
}
