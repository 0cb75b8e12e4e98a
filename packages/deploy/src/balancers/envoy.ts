import {
  countServers,
  JOB_DEPLOYMENT,
  JOB_FOLDER,
  JOB_METRICS_PORT,
  JOB_PORT,
  renderDescriptors,
  type Servers,
  totalLimit,
} from "../limits.js";
import type { Backend, Topology } from "../topology.js";
import { ADMIN } from "./envoy-start.js";

/** The text of `envoy.yaml`; the lines of the endpoints are the last. */
export function renderEnvoy(
  topology: Topology,
  { backends = [], discovery, connections, isJob = false }: Servers,
): string {
  const { balancer, name, workers, capacity } = topology;
  const servers = countServers(topology, backends);
  const endpoints: readonly Backend[] =
    discovery === undefined ? backends : [{ host: discovery.name, port: topology.port }];
  const limit = connections ?? totalLimit(topology, servers);
  const admin = isJob
    ? `pipe: { path: "${JOB_FOLDER}/admin" }`
    : `socket_address: { address: ${ADMIN.address}, port_value: ${ADMIN.port} }`;
  return `# Envoy before the servers of ${name}: ${servers} x ${workers} workers x ${capacity} sessions.
${renderDescriptors(limit)}admin:
  address:
    ${admin}

static_resources:
  listeners:
    - name: openenv
      address:
        socket_address: { address: "${balancer.host}", port_value: ${isJob ? JOB_PORT : balancer.port}${balancer.host === "::" ? ", ipv4_compat: true" : ""} }
${isJob ? NO_SHARED_PORT : ""}      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: openenv
                use_remote_address: true
                upgrade_configs:
                  - upgrade_type: websocket
                # No idle timeout that cuts a session: how long one may be silent is the server's to say.
                stream_idle_timeout: 0s
                request_timeout: 0s
                request_headers_timeout: 30s
                # Connections without a request are another matter.
                common_http_protocol_options:
                  idle_timeout: 900s
                drain_timeout: ${Math.max(1, topology.graceSeconds)}s
                route_config:
                  name: openenv
                  virtual_hosts:
                    - name: openenv
                      domains: ["*"]
                      routes:
                        - match: { prefix: "/" }
                          route:
                            cluster: openenv
                            timeout: 0s
                            idle_timeout: 0s
                            retry_policy:
                              # Only what never reached a server: a step is not done twice.
                              retry_on: connect-failure
                              num_retries: 3
                              # Without this, least request picks the dead host again: it has the least to do.
                              retry_host_predicate:
                                - name: envoy.retry_host_predicates.previous_hosts
                                  typed_config:
                                    "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
                              host_selection_retry_max_attempts: 5
                http_filters:
                  # Sessions live in one server. What names it is in the client's hands, so that any number of
                  # balancers may stand side by side and one that restarts forgets nothing. Browsers keep a cookie;
                  # all others send the header of their session back as they got it, and it wins over the cookie.
                  - name: browsers
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession
                      session_state:
                        name: envoy.http.stateful_session.cookie
                        typed_config:
                          "@type": type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState
                          cookie:
                            name: openenv_server
                            path: /
                            attributes:
                              - { name: HttpOnly }
                              - { name: SameSite, value: Lax }
${renderHeaderSession("http-sessions", "openenv-session")}${renderHeaderSession("mcp-sessions", "mcp-session-id")}                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
${renderMetricsListener(balancer, isJob)}
  clusters:
${balancer.metricsPort === undefined ? "" : renderMetricsCluster(admin)}    - name: openenv
      cluster_type:
        name: envoy.cluster.dns
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
          dns_lookup_family: V4_PREFERRED
          dns_refresh_rate: 1s
      connect_timeout: 2s
      lb_policy: LEAST_REQUEST
      # Drain on removal: one that discovery no longer names gets nothing new at once, whatever its health. The sockets
      # it has go on until it ends them; a request that names a session of it is answered by another: "no such session".
      ignore_health_on_host_removal: true
      common_lb_config:
        # With few servers healthy, the others would otherwise be tried as if they were.
        healthy_panic_threshold: { value: 0 }
        # A server that drains still answers the sessions it has.
        override_host_status: { statuses: [HEALTHY, DEGRADED, UNHEALTHY, DRAINING, UNKNOWN] }
      # A connection to the server for each request: one that is kept may be closed at the moment it is used again, and
      # Envoy would answer 503 in the server's place.
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config:
            http_protocol_options: {}
          common_http_protocol_options:
            max_requests_per_connection: 1
      circuit_breakers:
        thresholds:
          # The servers' sessions and a tenth: a full server says so itself, in the words of the protocol.
          - max_connections: ${limit}
            max_pending_requests: ${limit}
            max_requests: ${limit}
            max_retries: ${Math.max(64, Math.ceil(limit / 10))}
      health_checks:
        - timeout: 3s
          interval: 1s
          # Its default is a minute, in which a dead server counts as healthy.
          no_traffic_interval: 1s
          unhealthy_threshold: 3
          healthy_threshold: 1
          # A name that a server on the same machine takes for its own, too.
          http_health_check: { path: /health, host: localhost${isJob ? NAMED_CHECK : ""} }
      load_assignment:
        cluster_name: openenv
        endpoints:
          - lb_endpoints:
${endpoints.map(renderEndpoint).join("")}`;
}

const NO_SHARED_PORT = `      # Another job's Envoy at the same port would get every second connection.
      enable_reuse_port: false
`;
/** Another job may start a server at the address of one that has ended: it refuses this name. */
const NAMED_CHECK = `, request_headers_to_add: [{ header: { key: openenv-deployment, value: "${JOB_DEPLOYMENT}" } }]`;

/** One line of the file's end; scripts that learn the servers later append lines of this form. */
export function renderEndpoint({ host, port }: { host: string; port: number | string }): string {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return `              - endpoint: { address: { socket_address: { address: "${address}", port_value: ${port} } } }\n`;
}

/** The statistics are on the port of the administrator, of which nothing else is to be reached. */
function renderMetricsListener({ host, metricsPort }: Topology["balancer"], isJob: boolean): string {
  if (metricsPort === undefined) return "";
  return `
    # For Prometheus, and for any caller that reaches the port.
    - name: metrics
      address:
        socket_address: { address: "${host}", port_value: ${isJob ? JOB_METRICS_PORT : metricsPort}${host === "::" ? ", ipv4_compat: true" : ""} }
${isJob ? NO_SHARED_PORT : ""}      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: metrics
                route_config:
                  virtual_hosts:
                    - name: metrics
                      domains: ["*"]
                      routes:
                        - match: { path: /metrics, headers: [{ name: ":method", string_match: { exact: GET } }] }
                          route: { cluster: admin, prefix_rewrite: /stats/prometheus }
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
`;
}

function renderMetricsCluster(admin: string): string {
  return `    - name: admin
      type: STATIC
      load_assignment:
        cluster_name: admin
        endpoints:
          - lb_endpoints:
              - endpoint: { address: { ${admin} } }
`;
}

function renderHeaderSession(name: string, header: string): string {
  return `                  - name: ${name}
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession
                      session_state:
                        name: envoy.http.stateful_session.envelope
                        typed_config:
                          "@type": type.googleapis.com/envoy.extensions.http.stateful_session.envelope.v3.EnvelopeSessionState
                          header: { name: ${header} }
`;
}
