/** Where Envoy's administrator listens. */
export const ADMIN = { address: "127.0.0.1", port: 9901 } as const;
export const ENVOY_CONFIG = "/etc/envoy/envoy.yaml";
export const ENVOY_START = "/etc/envoy/envoy.sh";

/**
 * How a container starts Envoy, for bash. HAProxy finishes its requests when its container is stopped. Envoy ends at
 * once, and only its administrator can have it take no more connections.
 */
export function renderEnvoyStart(): string {
  return `# Envoy ends at once when it is told to. Here it then takes no more connections and ends with its last request: a
# WebSocket is one, too. Whoever stops it says how long that may take.
ask() (
  exec 3<>/dev/tcp/${ADMIN.address}/${ADMIN.port} || exit 1
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
}

/docker-entrypoint.sh envoy -c ${ENVOY_CONFIG} &
envoy=$!
trap drain TERM INT
# A signal ends the wait and not Envoy.
until wait "$envoy"; code=$?; ! kill -0 "$envoy" 2>/dev/null; do :; done
exit "$code"
`;
}
