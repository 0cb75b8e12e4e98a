import { BALANCERS, TARGETS } from "@openenv-ts/deploy";
import { type Command, Option } from "commander";
import { secondsBetween, wholeNumber } from "../terminal/option-values.js";
import type { DeployFlags } from "../terminal/render-deployment.js";

const EXAMPLES = `
A topology file (YAML or JSON) says what is deployed; an option wins over what it says. Its keys: name, image, directory,
dockerfile, nodes, workers, capacity, spareNodes, maxNodes, port, balancer, resources, nodeSelector, tolerations,
runtimeClass, variables, ingressHost, graceSeconds, slurm. Nothing is started: the files are yours to read,
keep and apply.

Examples:
  openenv deploy render --target compose --image my-env:1.0 --nodes 4 --workers 2 -o deploy
  openenv deploy render --target kubernetes --topology topology.yaml -o deploy
  openenv deploy render --target slurm --directory ./my-env --nodes 2 > job.sbatch
  openenv deploy render --target haproxy --backend 10.0.0.5:8000 --backend 10.0.0.6:8000`;

export function configureDeploy(command: Command): void {
  command
    .command("render")
    .description("write the files that deploy an environment on many machines")
    .addOption(new Option("--target <target>", "for what").choices([...TARGETS]).makeOptionMandatory())
    .option("--topology <file>", "what is deployed, as YAML or JSON")
    .option("--name <name>", "name of the deployment (default openenv)")
    .option("--image <image>", "image of the environment")
    .option("--directory <dir>", "folder of the environment, instead of an image")
    .option("--nodes <number>", "servers (default 1)", wholeNumber(1))
    .option("--workers <number>", "processes of each server (default 1)", wholeNumber(1))
    .option("--capacity <number>", "sessions of each worker (default 100)", wholeNumber(1))
    .option("--spare-nodes <number>", "servers more than the load needs (default 0)", wholeNumber(0))
    .option("--cpus <number>", "cores of each server (default 1)", secondsBetween(0.01, 1024))
    .option("--memory-mb <number>", "memory of each server, in MB (default 1024)", wholeNumber(1))
    .option("--gpus <number>", "GPUs of each server (default 0)", wholeNumber(0))
    .addOption(new Option("--balancer <kind>", "what stands before the servers").choices([...BALANCERS]))
    .option("--balancer-port <number>", "its port (default 8080)", wholeNumber(1, 65_535))
    .option("--balancer-host <address>", "the address it listens on (default 0.0.0.0)")
    .option("--backend <host:port>", "a server, for a balancer of its own; again for each", collect)
    .option("-o, --output-dir <dir>", "folder to write to; without it the files are printed")
    .option("--force", "overwrite files that are there and different")
    .option("--json", "print the files, or their paths, as JSON")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: DeployFlags) => {
      const { renderDeployment } = await import("../terminal/render-deployment.js");
      await renderDeployment(flags);
    });
}

function collect(text: string, before: string[] = []): string[] {
  return [...before, text];
}
