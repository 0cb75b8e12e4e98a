import { ConfigError } from "openenv-ts";
import { renderEndpoint, renderEnvoy } from "../balancers/envoy.js";
import { renderHaproxy } from "../balancers/haproxy.js";
import { JOB_DEPLOYMENT, JOB_FOLDER, JOB_METRICS_PORT, JOB_PORT } from "../limits.js";
import { quoteShell } from "../quote-shell.js";
import type { RenderedFiles } from "../targets.js";
import type { Topology } from "../topology.js";
import { hostVariables, stopSeconds, stopVariables } from "./container.js";

/** Seconds for servers to start listening, including an image pull. */
const START_SECONDS = 600;
/** Number of ports that a balancer tries, because jobs may start at the same time. */
const MAX_STARTS = 20;
/** Seconds for a balancer to reach a server that listens. */
const BALANCER_SECONDS = 20;

/** A script for `sbatch`: one node, or several with the balancer on the first. */
export function renderSlurm(topology: Topology): RenderedFiles {
  const { image, directory, nodeSelector, runtimeClass, tolerations } = topology;
  if (image === undefined && directory === undefined) {
    throw new ConfigError("Slurm needs a directory with an environment, or an image for Apptainer: add one of them.");
  }
  if (topology.journal === "redis") {
    throw new ConfigError('Slurm starts no Redis: set journal: "secret", and JOURNAL where sbatch is run.');
  }
  if (runtimeClass !== undefined) {
    throw new ConfigError("Slurm has no runtime classes, so code would run without isolation: remove runtimeClass.");
  }
  const isForeign = ([key, value]: [string, string]): boolean => key !== "constraint" || value === "";
  if (Object.entries(nodeSelector).some(isForeign) || tolerations.length > 0) {
    throw new ConfigError('Slurm selects nodes by feature: write nodeSelector as { constraint: "feature" }.');
  }
  const nodes = topology.nodes + topology.spareNodes;
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
    // A lost node ends only its own server.
    ["no-kill", nodes > 1 ? true : undefined],
    // Sent before the time limit, so that sessions can finish.
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
  .map(([key, value]) => `export ${settingName(topology, key)}=${quoteShell(value)}`)
  .join("\n")}
${topology.image === undefined ? FIND_COMMAND : ""}`;
}

const FIND_COMMAND = `# The command itself: npx would not pass on the signal that ends it.
openenv=$(npx -c 'command -v openenv') || { echo "There is no openenv here: submit from a folder that has @openenv-ts/cli installed" >&2; exit 1; }
export openenv
`;

/** Apptainer passes variables of the host to a container only under this name. */
function settingName({ image }: Topology, key: string): string {
  return image === undefined ? key : `APPTAINERENV_${key}`;
}

function serverSettings(topology: Topology): Record<string, string> {
  return {
    HOST: "0.0.0.0",
    WORKERS: String(topology.workers),
    MAX_CONCURRENT_ENVS: String(topology.capacity),
    ...stopVariables(topology),
    ...topology.variables,
    ...hostVariables(topology),
  };
}

function renderOneNode(topology: Topology): string {
  return `# The server listens on a free port, because other jobs may share the node.
  exec > >${renderReader('echo "openenv serves at http://$(hostname):$port"')}
${settingName(topology, "PORT")}=0 exec ${serveCommand(topology)}
`;
}

/**
 * A process that reads the output of a server. It copies all lines to the log and passes the port, at the end of the
 * first line, to a command.
 */
function renderReader(onPort: string, onEnd = ""): string {
  return `(
  trap '' TERM INT HUP
  port=
  while IFS= read -r text; do
    echo "$text" >&2
    [[ -z $port && $text =~ \\ at\\ http://[^\\ ]*:([0-9]+)$ ]] || continue
    port=\${BASH_REMATCH[1]}
    ${onPort}
  done${onEnd === "" ? "" : `\n  ${onEnd}`}
)`;
}

/** What differs between the balancers: the file, its text, the line of a server, and the command that starts it. */
const BALANCERS = {
  envoy: {
    file: "envoy.yaml",
    render: renderEnvoy,
    line: renderEndpoint({ host: "$address", port: "$port" }).trimEnd().replaceAll('"', '\\"'),
    run: 'envoy -c "$folder/envoy.yaml" --log-level warning --use-dynamic-base-id',
  },
  haproxy: {
    file: "haproxy.cfg",
    render: renderHaproxy,
    line: "    server env$((index + 1)) $address:$port",
    run: 'haproxy -db -f "$folder/haproxy.cfg"',
  },
};

function renderManyNodes(topology: Topology, nodes: number): string {
  const { balancer } = topology;
  const { file, render, line, run } = BALANCERS[balancer.kind ?? "haproxy"];
  return `# Balancers and servers of this job identify each other by this name.
deployment=slurm-$SLURM_JOB_ID
export ${settingName(topology, "OPENENV_DEPLOYMENT")}="$deployment"

folder=$(mktemp -d)
cat >"$folder/template" <<'CONFIG'
${render(topology, { isJob: true })}CONFIG

# The nodes are known now.
addresses=()
for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
  addresses+=("$(scontrol show node "$node" | sed -n 's/.*NodeAddr=\\([^ ]*\\).*/\\1/p')")
done

# On each node: a server on a free port, because other jobs may share the node.
task=$(cat <<'TASK'
# Waits for both: Slurm kills the processes that a task leaves behind, and the reader could not report "none".
trap : TERM INT HUP
${settingName(topology, "PORT")}=0 ${serveCommand(topology)} | ${renderReader('echo "$SLURM_PROCID $port"', '[[ -n $port ]] || echo "$SLURM_PROCID none"')}
exit "\${PIPESTATUS[0]}"
TASK
)
mkfifo "$folder/ports"
exec 3<>"$folder/ports"
# srun does not inherit --cpus-per-task from sbatch.
srun --nodes=${nodes} --ntasks=${nodes} --cpus-per-task=${serverCpus(topology)} --no-kill --kill-on-bad-exit=0 bash -c "$task" >&3 3>&- &
servers=$!
balancer=

# Stops the servers first, so that their sessions still reach them; by scancel, because srun would not wait for them.
stop() {
  trap - TERM INT
  scancel --quiet --signal=TERM "$SLURM_JOB_ID.0" || true
  wait "$servers" || true
  if [[ -n $balancer ]]; then
    kill -TERM "$balancer" 2>/dev/null || true
    wait "$balancer" || true
  fi
  rm -rf "$folder"
}
trap 'stop; exit 0' TERM INT

# Skips a server that exits before it listens, and a node that reports nothing for ${START_SECONDS} s. A line may arrive in two parts.
known=0 told=
for ((heard = 0; heard < ${nodes}; )); do
  if IFS= read -r -t 1 -u 3 text; then
    read -r index port <<<"$told$text"
    told= heard=$((heard + 1))
    [[ $port != none ]] || continue
    known=$((known + 1)) address=\${addresses[index]}
    echo "${line}" >>"$folder/template"
  elif told+=$text; ! kill -0 "$servers" 2>/dev/null || ((SECONDS >= ${START_SECONDS})); then
    break
  fi
done
if ((known == 0)); then
  echo "No server of this job listens; see the log above" >&2
  stop
  exit 1
fi

${renderStart(balancer, file, run)}
status=0
wait -n "$servers" "$balancer" || status=$?
stop
exit "$status"
`;
}

function renderStart({ host, port, metricsPort }: Topology["balancer"], file: string, run: string): string {
  const address = ["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host;
  const metrics = metricsPort === undefined ? "" : `\n  metrics=$(free_port "$metrics" "$entry")`;
  return `# Prints the first free port starting at $1, except $2.
free_port() {
  local port=$1
  while [[ $port == "\${2-}" ]] || (exec 3<>"/dev/tcp/${address}/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

# Whether a server of this job answers through the balancer.
serves() (
  exec 3<>"/dev/tcp/${address}/$entry" || exit 1
  printf 'GET /health HTTP/1.1\\r\\nHost: localhost\\r\\nopenenv-deployment: %s\\r\\nConnection: close\\r\\n\\r\\n' "$deployment" >&3
  IFS= read -r -t 5 status <&3 && [[ $status == *" 200 "* ]]
) 2>/dev/null

# Another job may take the port after free_port has checked it: HAProxy then exits, and Envoy runs without listening.
start_balancer() {
  entry=$(free_port "$entry")${metrics}
  sed "s/${JOB_PORT}/$entry/; s/${JOB_METRICS_PORT}/$metrics/; s/${JOB_DEPLOYMENT}/$deployment/; s|${JOB_FOLDER}|$folder|" "$folder/template" >"$folder/${file}"
  ${run} &
  balancer=$!
  local limit=$((SECONDS + ${BALANCER_SECONDS}))
  until serves || ! kill -0 "$servers" 2>/dev/null; do
    if ((SECONDS >= limit)) || ! kill -0 "$balancer" 2>/dev/null; then
      kill "$balancer" 2>/dev/null || true
      wait "$balancer" || true
      return 1
    fi
    sleep 0.2
  done
}
entry=${port} metrics=${metricsPort ?? ""} starts=1
until start_balancer; do
  if ((++starts > ${MAX_STARTS})); then
    echo "The balancer does not start; see the log above" >&2
    stop
    exit 1
  fi
done
echo "openenv serves at http://\${addresses[0]}:$entry"${metricsPort === undefined ? "" : `\necho "metrics of the balancer at http://\${addresses[0]}:$metrics/metrics"`}`;
}

function serverCpus({ resources }: Topology): number {
  return Math.ceil(resources.cpus);
}

function serveCommand({ directory, image, resources }: Topology): string {
  if (image === undefined) return `"$openenv" serve ${directory}`;
  return `apptainer run --containall${resources.gpus > 0 ? " --nv" : ""} docker://${image}`;
}
