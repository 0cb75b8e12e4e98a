import { ConfigError } from "openenv-ts";
import {
  countEnvoyServers,
  JOB_DEPLOYMENT,
  JOB_FOLDER,
  JOB_METRICS_PORT,
  JOB_PORT,
  renderDescriptors,
  type Servers,
  totalLimit,
} from "../limits.js";
import { type Backend, hasAddress, type Topology } from "../topology.js";
import { ADMIN } from "./envoy-start.js";

/** The file with the addresses of the servers, which Envoy watches, in the folder of `envoy.yaml`. */
export const ENDPOINTS_FILE = "endpoints.yaml";

/** The text of `envoy.yaml`. For a job the endpoints are the last lines; names are looked up, addresses have a file. */
export function renderEnvoy(
  topology: Topology,
  { backends = [], discovery, connections, isJob = false }: Servers,
): string {
  const { balancer, name, workers, capacity } = topology;
  const servers = countEnvoyServers(topology, backends);
  const hasFile = !isJob && backends.length > 0 && backends.every(hasAddress);
  const endpoints: readonly Backend[] =
    discovery === undefined ? backends : [{ host: discovery.name, port: topology.port }];
  const limit = connections ?? totalLimit(topology, servers);
  const admin = renderAdmin(balancer, isJob);
  return `# Envoy for the servers of ${name}: ${servers} x ${workers} workers x ${capacity} sessions.
${renderDescriptors(limit)}admin: { address: { ${admin} } }
${hasFile ? `# Envoy requires a name for itself to read a file of endpoints.\nnode: { id: "${name}", cluster: "${name}" }\n` : ""}
static_resources:
  listeners:
${renderSessionsListener(topology, isJob)}${renderMetricsListener(balancer, isJob)}
  clusters:
${balancer.metricsPort === undefined ? "" : renderMetricsCluster(admin)}${renderServersCluster(limit, isJob, hasFile ? undefined : endpoints)}`;
}

/** The listener for clients. */
function renderSessionsListener({ balancer, graceSeconds }: Topology, isJob: boolean): string {
  return `${renderListener("openenv", balancer.host, isJob ? JOB_PORT : balancer.port, isJob)}                use_remote_address: true
                upgrade_configs: [{ upgrade_type: websocket }]
                # No idle timeout for sessions: the server decides how long a session may be idle.
                stream_idle_timeout: 0s
                request_timeout: 0s
                request_headers_timeout: 30s
                # Idle timeout for connections without a request.
                common_http_protocol_options: { idle_timeout: 900s }
                drain_timeout: ${Math.max(1, graceSeconds)}s
                route_config:
                  name: openenv
                  virtual_hosts:
                    - name: openenv
                      domains: ["*"]
                      routes:
                        # If a server closes the connection without an answer, only the handshake of a new session is
                        # retried: no code of the environment has run.
${renderRoute(NEW_SOCKET, "connect-failure,reset")}${renderRoute('prefix: "/"', "connect-failure")}                http_filters:
                  # A session lives in one server. The client holds the name of that server, so that there can be
                  # several balancers and a restart loses nothing. Browsers keep a cookie. Other clients return the
                  # session header as they received it; the header takes precedence over the cookie.
${renderSession("browsers", "cookie.v3.CookieBasedSessionState", COOKIE)}${renderSession("http-sessions", ENVELOPE, "header: { name: openenv-session }")}${renderSession("mcp-sessions", ENVELOPE, "header: { name: mcp-session-id }")}${ROUTER}`;
}

const NEW_SOCKET = `path: /ws, headers: [
                            { name: ":path", string_match: { contains: "session_id=" }, invert_match: true },
                            { name: openenv-session, present_match: true, invert_match: true },
                            { name: x-openenv-session-id, present_match: true, invert_match: true }]`;

function renderRoute(match: string, retryOn: string): string {
  return `                        - match: { ${match} }
                          route:
                            cluster: openenv
                            timeout: 0s
                            idle_timeout: 0s
                            retry_policy:
                              retry_on: ${retryOn}
                              num_retries: 3
                              # Without these, LEAST_REQUEST selects the dead host again: it has the fewest requests.
                              retry_host_predicate:
                                - name: envoy.retry_host_predicates.previous_hosts
                                  typed_config:
                                    "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
                              host_selection_retry_max_attempts: 20
`;
}

/** The cluster of the servers. Without endpoints, a file has them. */
function renderServersCluster(limit: number, isJob: boolean, endpoints: readonly Backend[] | undefined): string {
  return `    - name: openenv
${endpoints ? DNS_CLUSTER : FILE_CLUSTER}      connect_timeout: 2s
      lb_policy: LEAST_REQUEST
      # Drain on removal: a server that discovery no longer lists gets no new requests, whatever its health. Its sockets
      # stay open until it closes them. A request for one of its sessions goes to another server: "no such session".
      ignore_health_on_host_removal: true
      common_lb_config:
        # Otherwise Envoy would send requests to unhealthy servers when only few are healthy.
        healthy_panic_threshold: { value: 0 }
        # A draining server still serves its sessions.
        override_host_status: { statuses: [HEALTHY, DEGRADED, UNHEALTHY, DRAINING, UNKNOWN] }
      # A new connection to the server for each request: the server may close a kept-alive connection just when it is
      # reused, and Envoy would answer 503.
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: { http_protocol_options: {} }
          common_http_protocol_options: { max_requests_per_connection: 1 }
      circuit_breakers:
        thresholds:
          # The sessions of the servers plus a tenth, so that a full server can reject with the error of the protocol.
          - max_connections: ${limit}
            max_pending_requests: ${limit}
            max_requests: ${limit}
            max_retries: ${Math.max(64, Math.ceil(limit / 10))}
      health_checks:
        - timeout: 3s
          interval: 1s
          # The default is a minute, in which a dead server counts as healthy.
          no_traffic_interval: 1s
          unhealthy_threshold: 3
          healthy_threshold: 1
          # A host name that a server on the same machine accepts, too.
          http_health_check: { path: /health, host: localhost${isJob ? NAMED_CHECK : ""} }
${endpoints ? `      load_assignment:\n        cluster_name: openenv\n        endpoints:\n${renderList(endpoints)}` : ""}`;
}

/** Several jobs may share a machine, so that of a job is a socket in its folder. */
function renderAdmin({ port, metricsPort, adminPort }: Topology["balancer"], isJob: boolean): string {
  if (isJob && adminPort !== undefined) {
    throw new ConfigError("The admin interface of a job's Envoy is a socket in its folder: remove balancer.adminPort.");
  }
  if (isJob) return `pipe: { path: "${JOB_FOLDER}/admin" }`;
  const own = adminPort ?? ADMIN.port;
  if (own === port || own === metricsPort) {
    throw new ConfigError(`Envoy's admin interface has the port ${own} already: choose another balancer.adminPort.`);
  }
  return `socket_address: { address: ${ADMIN.address}, port_value: ${own} }`;
}

/** The text of {@link ENDPOINTS_FILE}. */
export function renderEndpoints(backends: readonly Backend[]): string {
  return `# The servers behind Envoy, which reads this file again when it is replaced, but not when it is edited in place:
#   cp ${ENDPOINTS_FILE} new.yaml, add a line to new.yaml or remove one, mv new.yaml ${ENDPOINTS_FILE}
resources:
    - "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
      cluster_name: openenv
      endpoints:
${renderList(backends)}`;
}

function renderList(endpoints: readonly Backend[]): string {
  return `          - lb_endpoints:\n${endpoints.map(renderEndpoint).join("")}`;
}

const ROUTER = `                  - name: envoy.filters.http.router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
`;
const ENVELOPE = "envelope.v3.EnvelopeSessionState";
const COOKIE =
  "cookie: { name: openenv_server, path: /, attributes: [{ name: HttpOnly }, { name: SameSite, value: Lax }] }";

const DNS_CLUSTER = `      cluster_type:
        name: envoy.cluster.dns
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster
          dns_lookup_family: V4_PREFERRED
          dns_refresh_rate: 1s
`;
const FILE_CLUSTER = `      type: EDS
      eds_cluster_config:
        eds_config:
          path_config_source:
            # Relative to the folder in which Envoy is started.
            path: ./${ENDPOINTS_FILE}
            watched_directory: { path: . }
`;

const NO_SHARED_PORT = `      # Another job's Envoy at the same port would get every second connection.
      enable_reuse_port: false
`;
/** Another job may start a server at the address of one that has ended; that server rejects this name. */
const NAMED_CHECK = `, request_headers_to_add: [{ header: { key: openenv-deployment, value: "${JOB_DEPLOYMENT}" } }]`;

/** A line for the end of a file; scripts append such lines for servers that they learn later. */
export function renderEndpoint({ host, port }: { host: string; port: number | string }): string {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return `              - endpoint: { address: { socket_address: { address: "${address}", port_value: ${port} } } }\n`;
}

/** The beginning of a listener, up to the settings of its connections. */
function renderListener(name: string, host: string, port: number | string, isJob: boolean): string {
  return `    - name: ${name}
      address:
        socket_address: { address: "${host}", port_value: ${port}${host === "::" ? ", ipv4_compat: true" : ""} }
${isJob ? NO_SHARED_PORT : ""}      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: ${name}
`;
}

/** The statistics are on the admin port; nothing else of the admin interface must be reachable. */
function renderMetricsListener({ host, metricsPort }: Topology["balancer"], isJob: boolean): string {
  if (metricsPort === undefined) return "";
  return `
    # For Prometheus. Anyone who can reach the port can read it.
${renderListener("metrics", host, isJob ? JOB_METRICS_PORT : metricsPort, isJob)}                route_config:
                  virtual_hosts:
                    - name: metrics
                      domains: ["*"]
                      routes:
                        - match: { path: /metrics, headers: [{ name: ":method", string_match: { exact: GET } }] }
                          route: { cluster: admin, prefix_rewrite: /stats/prometheus }
                http_filters:
${ROUTER}`;
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

/** A filter that returns to the server of a session, which the client names. */
function renderSession(name: string, type: string, key: string): string {
  return `                  - name: ${name}
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.stateful_session.v3.StatefulSession
                      session_state:
                        name: envoy.http.stateful_session.${type.split(".")[0]}
                        typed_config:
                          "@type": type.googleapis.com/envoy.extensions.http.stateful_session.${type}
                          ${key}
`;
}
