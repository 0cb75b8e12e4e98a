import type { Topology } from "../topology.js";

/** Address of Envoy's admin interface, and its port if the topology has none. */
export const ADMIN = { address: "127.0.0.1", port: 9901 } as const;
export const ENVOY_CONFIG = "/etc/envoy/envoy.yaml";
export const ENVOY_START = "/etc/envoy/envoy.sh";

/**
 * The bash script that starts Envoy in a container. HAProxy finishes its requests when its container is stopped. Envoy
 * exits at once, and only its admin interface can stop it from accepting connections.
 */
export function renderEnvoyStart({ adminPort = ADMIN.port }: Topology["balancer"]): string {
  return `# Envoy exits at once on SIGTERM. With this script it stops accepting connections and exits after its last request;
  # a WebSocket counts as a request. The grace period of the container limits the wait.
ask() (
  exec 3<>/dev/tcp/${ADMIN.address}/${adminPort} || exit 1
  printf '%s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' "$1" >&3
  cat <&3
) 2>/dev/null

drain() {
  trap '' TERM INT
  ask 'POST /drain_listeners' >/dev/null
  while ask 'GET /stats?filter=downstream_rq_active' | grep -q '^http.openenv.downstream_rq_active: [1-9]'; do
    sleep 0.2
  done
  kill "$envoy"
  wait "$envoy"
  exit "$?"
}

/docker-entrypoint.sh envoy -c ${ENVOY_CONFIG} &
envoy=$!
trap drain TERM INT
wait "$envoy"
`;
}
