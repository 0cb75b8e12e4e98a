import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import {
  type DeployTarget,
  isBalancer,
  parseTopology,
  parseYaml,
  type RenderedFiles,
  renderTarget,
  type Topology,
} from "@openenv-ts/deploy";
import { ConfigError, isObject } from "openenv-ts/internal";
import { exit, print } from "./output.js";

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
  if (flags.outputDir === undefined) print(flags.json ? JSON.stringify(files, null, 2) : renderFiles(files));
  else {
    const paths = await writeFiles(files, flags.outputDir, flags.force ?? false);
    print(flags.json ? JSON.stringify(paths, null, 2) : paths.join("\n"));
  }
  exit(0);
}

/** Of options; what a file says besides gives way to them. */
function rejectContradictions({ target, balancer, backend, nodes }: DeployFlags, { spareNodes }: Topology): void {
  if (isBalancer(target) && balancer !== undefined && balancer !== target) {
    throw new ConfigError(`--target ${target} is the balancer, and --balancer says ${balancer}: leave --balancer out.`);
  }
  // Envoy asks for all the addresses that one name has.
  if (target === "envoy" || backend === undefined || nodes === undefined || nodes + spareNodes === backend.length)
    return;
  throw new ConfigError(
    `--nodes${spareNodes > 0 ? " and spareNodes" : ""} say ${nodes + spareNodes} servers, --backend names ${backend.length}: leave --nodes out, or name them all.`,
  );
}

/** Compose looks for what it builds from the folder of its file; Slurm from where the job is submitted. */
function placed({ target, outputDir }: DeployFlags, topology: Topology): Topology {
  const { directory } = topology;
  if (target !== "compose" || outputDir === undefined || directory === undefined || isAbsolute(directory)) {
    return topology;
  }
  return { ...topology, directory: relative(outputDir, directory).split(sep).join("/") || "." };
}

/** The file's topology, with the options over it. */
async function readTopology(flags: DeployFlags): Promise<Topology> {
  const { name, nodes, workers, capacity, spareNodes, cpus, memoryMb, gpus } = flags;
  const given = flags.topology === undefined ? {} : await readTopologyFile(flags.topology);
  // A directory on the command line takes the place of the file's image, and the other way round.
  const source = flags.image ?? flags.directory;
  return parseTopology({
    ...given,
    ...(source !== undefined && { image: undefined, directory: undefined }),
    ...defined({ name, image: flags.image, directory: flags.directory, nodes, workers, capacity, spareNodes }),
    resources: over(given["resources"], { cpus, memoryMb, gpus }),
    balancer: over(given["balancer"], { kind: flags.balancer, port: flags.balancerPort, host: flags.balancerHost }),
  });
}

async function readTopologyFile(path: string): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    const { size } = await stat(path);
    if (size > MAX_TOPOLOGY_BYTES) throw new Error(`it has ${size} bytes, ${MAX_TOPOLOGY_BYTES} are the most`);
    value = parseYaml(await readFile(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      throw new ConfigError(`There is no file ${path}: name a topology, or say what is deployed with options.`);
    }
    throw new ConfigError(`${path} cannot be read as a topology: ${(error as Error).message}`, { cause: error });
  }
  if (isObject(value)) return value;
  throw new ConfigError(`${path} is no topology: it needs keys such as image and nodes.`);
}

/** What is no object is left to the check of the topology. */
function over(given: unknown, flags: object): unknown {
  const set = defined(flags);
  if (Object.keys(set).length === 0) return given;
  return isObject(given) ? { ...given, ...set } : set;
}

function defined(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** One file as it is; more of them each below its name. */
function renderFiles(files: RenderedFiles): string {
  const entries = Object.entries(files);
  const texts = entries.map(([name, text]) => (entries.length === 1 ? text : `# ---- ${name} ----\n${text}`));
  return texts.join("\n").trimEnd();
}

async function writeFiles(files: RenderedFiles, folder: string, force: boolean): Promise<string[]> {
  const entries = Object.entries(files).map(([name, text]) => ({ path: join(folder, name), text }));
  for (const { path, text } of force ? [] : entries) {
    if (existsSync(path) && (await readFile(path, "utf8")) !== text) {
      throw new ConfigError(`${path} is there and different: keep it and choose another folder, or add --force.`);
    }
  }
  await mkdir(folder, { recursive: true });
  for (const { path, text } of entries) await writeFile(path, text);
  return entries.map(({ path }) => path);
}
