import { BALANCERS, TARGETS } from "@openenv-ts/deploy";
import { type Command, Option } from "commander";
import { secondsBetween, wholeNumber } from "../terminal/option-values.js";
import type { DeployFlags } from "../terminal/render-deployment.js";

const EXAMPLES = `
A topology file (YAML or JSON) describes the deployment; options override its values. Keys: name, image, directory,
dockerfile, nodes, workers, capacity, spareNodes, maxNodes, backends, port, balancer, resources, nodeSelector,
tolerations, runtimeClass, journal, variables, writable, egress, ingressHost, graceSeconds, slurm. The command only
writes files. Review and apply them yourself.

Examples:
  openenv deploy render --target compose --image my-env:1.0 --nodes 4 --workers 2 -o deploy
  openenv deploy render --target kubernetes --topology topology.yaml -o deploy
  openenv deploy render --target kubernetes --image registry.example.org/my-env:1.0 | kubectl apply -f -
  openenv deploy render --target slurm --directory ./my-env --nodes 2 > job.sbatch
  openenv deploy render --target haproxy --backend 10.0.0.5:8000 --backend 10.0.0.6:8000`;

export function configureDeploy(command: Command): void {
  command
    .command("render")
    .description("write the files that deploy an environment on several machines")
    .addOption(new Option("--target <target>", "format of the files").choices([...TARGETS]).makeOptionMandatory())
    .option("--topology <file>", "description of the deployment, YAML or JSON")
    .option("--name <name>", "name of the deployment (default openenv)")
    .option("--image <image>", "image of the environment")
    .option("--directory <dir>", "folder of the environment, instead of an image")
    .option("--nodes <number>", "number of servers (default 1)", wholeNumber(1))
    .option("--workers <number>", "worker processes of each server (default 1)", wholeNumber(1))
    .option("--capacity <number>", "sessions of each worker (default 100)", wholeNumber(1))
    .option("--spare-nodes <number>", "extra servers beyond what the load needs (default 0)", wholeNumber(0))
    .option("--cpus <number>", "cores of each server (default 1)", secondsBetween(0.01, 1024))
    .option("--memory-mb <number>", "memory of each server, in MB (default 1024)", wholeNumber(1))
    .option("--gpus <number>", "GPUs of each server (default 0)", wholeNumber(0))
    .addOption(new Option("--balancer <kind>", "load balancer in front of the servers").choices([...BALANCERS]))
    .option("--balancer-port <number>", "port of the balancer (default 8080)", wholeNumber(1, 65_535))
    .option("--balancer-host <address>", "address that the balancer listens on (default 0.0.0.0)")
    .option("--backend <host:port>", "server behind a standalone balancer, or one to monitor; repeatable", collect)
    .option("-o, --output-dir <dir>", "folder for the files (default: print what the tool of the target reads)")
    .option("--force", "overwrite existing files")
    .option("--json", "print the files, or with -o their paths, as JSON")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: DeployFlags) => {
      const { renderDeployment } = await import("../terminal/render-deployment.js");
      await renderDeployment(flags);
    });
}

function collect(text: string, previous: string[] = []): string[] {
  return [...previous, text];
}
