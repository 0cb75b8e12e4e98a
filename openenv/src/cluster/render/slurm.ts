import { ConfigError } from "../../errors.js";
import type { Topology } from "../topology.js";
import { hostVariables, stopSeconds } from "./container.js";
import { renderEndpoint, renderEnvoy } from "./envoy.js";
import { renderHaproxy } from "./haproxy.js";
import type { RenderedFiles } from "./targets.js";

/** A script for `sbatch`: one node, or many with the balancer on the first. */
export function renderSlurm(topology: Topology): RenderedFiles {
  const { image, directory, nodeSelector, runtimeClass, tolerations } = topology;
  if (image === undefined && directory === undefined) {
    throw new ConfigError("Slurm needs a directory with an environment, or an image for Apptainer: add one of them.");
  }
  if (runtimeClass !== undefined) {
    throw new ConfigError("Slurm has no runtimes, and would run the code unisolated: leave runtimeClass out.");
  }
  const isForeign = ([key, value]: [string, string]): boolean => key !== "constraint" || value === "";
  if (Object.entries(nodeSelector).some(isForeign) || tolerations.length > 0) {
    throw new ConfigError('Slurm chooses nodes by features: write nodeSelector as { constraint: "feature" }.');
  }
  const nodes = topology.nodes + topology.spares;
  const script = nodes === 1 ? renderOneNode(topology) : renderManyNodes(topology, nodes);
  return { "job.sbatch": `${renderHead(topology, nodes)}\n${script}` };
}

function renderHead(topology: Topology, nodes: number): string {
  const { name, resources, nodeSelector, slurm, workers, capacity } = topology;
  const options: [string, string | number | true | undefined][] = [
    ["job-name", name],
    ["nodes", nodes],
    ["ntasks-per-node", 1],
    ["cpus-per-task", serverCpus(topology)],
    ["mem", `${resources.memoryMb}M`],
    ["gres", resources.gpus > 0 ? `gpu:${resources.gpus}` : undefined],
    ["time", slurm.minutes],
    ["partition", slurm.partition],
    ["account", slurm.account],
    ["constraint", nodeSelector["constraint"]],
    // A node that is lost takes its own server with it and no other.
    ["no-kill", nodes > 1 ? true : undefined],
    // Before the time is up: sessions in flight get theirs.
    ["signal", `B:TERM@${stopSeconds(topology)}`],
    ["output", `${name}-%j.log`],
  ];
  const lines = options.flatMap(([key, value]) =>
    value === undefined ? [] : [`#SBATCH --${key}${value === true ? "" : `=${value}`}`],
  );
  return `#!/usr/bin/env bash
# ${nodes} x ${workers} workers x ${capacity} sessions. Submit: sbatch job.sbatch; end: scancel JOB
${lines.join("\n")}
set -euo pipefail
${Object.entries(serverSettings(topology))
  .map(([key, value]) => `export ${settingName(topology, key)}=${quote(value)}`)
  .join("\n")}
${topology.image === undefined ? FIND_COMMAND : ""}`;
}

const FIND_COMMAND = `# The command itself: npx would not pass on the signal that ends it.
openenv=$(npx -c 'command -v openenv') || { echo "There is no openenv here: submit from a folder that has openenv-ts installed" >&2; exit 1; }
export openenv
`;

/** In a container the variables of the host count only with this name. */
function settingName({ image }: Topology, key: string): string {
  return image === undefined ? key : `APPTAINERENV_${key}`;
}

function serverSettings(topology: Topology): Record<string, string> {
  return {
    HOST: "0.0.0.0",
    WORKERS: String(topology.workers),
    MAX_CONCURRENT_ENVS: String(topology.capacity),
    SHUTDOWN_DRAIN: String(topology.graceSeconds),
    ...topology.variables,
    ...hostVariables(topology),
  };
}

function renderOneNode(topology: Topology): string {
  const { port } = topology;
  return `echo "openenv serves at http://$(hostname):${port}"
${settingName(topology, "PORT")}=${port} exec ${serveCommand(topology)}
`;
}

function renderManyNodes(topology: Topology, nodes: number): string {
  const { balancer, port } = topology;
  const kind = balancer.kind ?? "haproxy";
  if (kind === "nginx") {
    throw new ConfigError("Which nodes a job gets is known when it runs, too late for nginx: take haproxy or envoy.");
  }
  const file = kind === "envoy" ? "envoy.yaml" : "haproxy.cfg";
  const config = kind === "envoy" ? renderEnvoy(topology, {}) : renderHaproxy(topology, {});
  const line =
    kind === "envoy"
      ? renderEndpoint({ host: "$address", port: "$port" }).replaceAll('"', '\\"')
      : "    server env$((index + 1)) $address:$port\n";
  const run = kind === "envoy" ? `envoy -c "$folder/${file}" --log-level warning` : `haproxy -db -f "$folder/${file}"`;
  return `folder=$(mktemp -d)
cat >"$folder/${file}" <<'CONFIG'
${config}CONFIG

# Which nodes they are is known now. Each has a port of its own, because nodes may share a host.
index=0
for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
  address=$(scontrol show node "$node" | sed -n 's/.*NodeAddr=\\([^ ]*\\).*/\\1/p')
  port=$((${port} + index))
  [[ $index != 0 ]] || first=$address
  echo "${line.trimEnd()}" >>"$folder/${file}"
  index=$((index + 1))
done

# It does not take --cpus-per-task from above.
srun --nodes=${nodes} --ntasks=${nodes} --cpus-per-task=${serverCpus(topology)} --no-kill --kill-on-bad-exit=0 bash -c '${settingName(topology, "PORT")}=$((${port} + SLURM_PROCID)) exec ${serveCommand(topology)}' &
servers=$!
${run} &
balancer=$!
echo "openenv serves at http://$first:${balancer.port}"

# Told to end: the servers first, so that their sessions still reach them. By scancel, because srun would not wait for them.
stop() {
  trap - TERM INT
  scancel --quiet --signal=TERM "$SLURM_JOB_ID.0" || true
  wait "$servers" || true
  kill -TERM "$balancer" 2>/dev/null || true
  wait "$balancer" || true
  rm -rf "$folder"
}
trap 'stop; exit 0' TERM INT
status=0
wait -n "$servers" "$balancer" || status=$?
stop
exit "$status"
`;
}

function serverCpus({ resources }: Topology): number {
  return Math.ceil(resources.cpus);
}

function serveCommand({ directory, image, resources }: Topology): string {
  if (image === undefined) return `"$openenv" serve ${directory}`;
  return `apptainer run --containall${resources.gpus > 0 ? " --nv" : ""} docker://${image}`;
}

function quote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
