import { ConfigError } from "openenv-ts";
import {
  connectionLimit,
  countServers,
  JOB_DEPLOYMENT,
  JOB_METRICS_PORT,
  JOB_PORT,
  mostNodes,
  renderDescriptors,
  type Servers,
  totalLimit,
} from "../limits.js";
import type { Backend, Topology } from "../topology.js";

/** The text of `haproxy.cfg`; the servers are the last lines. */
export function renderHaproxy(topology: Topology, { backends = [], discovery, isJob = false }: Servers): string {
  const { balancer, graceSeconds } = topology;
  if (balancer.adminPort !== undefined) {
    throw new ConfigError("HAProxy has no admin port: remove balancer.adminPort, or set balancer.kind to envoy.");
  }
  const port = isJob ? JOB_PORT : balancer.port;
  const servers = countServers(topology, backends);
  return `# HAProxy for the servers of ${topology.name}: ${servers} x ${topology.workers} workers x ${topology.capacity} sessions.
${renderDescriptors(totalLimit(topology, servers))}global
    # Not the requests: the names in the paths of sessions are secret.
    log stdout format raw local0 notice
    maxconn ${totalLimit(topology, servers)}
${isJob ? NO_SHARED_PORT : "    localpeer openenv\n"}
defaults
    mode http
    log global
    option dontlognull
    timeout connect 2s
    timeout check 3s
    timeout http-request 30s
    # A step may take long; the server has its own limits.
    timeout client 1h
    timeout server 1h
    # A socket may be idle for its whole life: the pings of the server (PING_INTERVAL) restart this timeout.
    timeout tunnel 7d
    timeout client-fin 30s
    # A new connection to the server for each request: the server may close a kept-alive connection just when it is
    # reused, and HAProxy would close the connection of the client without a response.
    option http-server-close
    # On a reload the old process answers the next request of an idle connection and then closes it: a request that has
    # just been sent would be lost with the connection.
    option idle-close-on-response
    # When a server refuses a connection, try another one at once instead of retrying the same.
    retries 3
    option redispatch 1

${isJob ? "" : renderPeers(balancer.port)}${discovery === undefined ? "" : renderResolvers(graceSeconds)}frontend openenv
    bind ${balancer.host}:${port}${balancer.host === "::" ? " v4v6" : ""}
    option forwardfor
    default_backend openenv

${renderMetrics(balancer, isJob)}backend openenv
    balance leastconn
    # A session lives in one server; requests with its id go there. HAProxy learns the id from the server's response.
    # A plain MCP request has the id in its body, and a socket that joins the session in its URL.
    # A session by address is named by the path or a header; its first request chooses the server.
    # Entries do not expire; with a million of them the oldest are dropped.
    stick-table type string len 144 size 1m${isJob ? "" : " peers openenv"}
    option http-buffer-request
    # If a server closes the connection without an answer, only the handshake of a new session is retried: it runs no code.
    retry-on conn-failure empty-response
    http-request disable-l7-retry unless { path /ws } !{ url_param(session_id) -m found } !{ req.hdr(openenv-session) -m found } !{ req.hdr(x-openenv-session-id) -m found }
    stick on path,field(1,/,3) if { path_beg /session/ }
    stick on req.hdr(x-openenv-session-id)
    stick match req.hdr(openenv-session)
    stick match req.hdr(mcp-session-id)
    stick match url_param(session_id)
    stick match req.cook(openenv_session_${port})
    stick match req.cook(openenv_session)
    stick match req.body,json_query('$.params.session_id') if { path /mcp } { method POST }
    stick store-response res.hdr(openenv-session) unless { res.hdr(openenv-session) none }
    stick store-response res.hdr(mcp-session-id)
    # Also when the server's check fails because it drains or is slow; only a failed connection goes to another server.
    option persist
    # When the server is gone, another one answers "no such session", which clients understand.
    option httpchk GET /health
${isJob ? NAMED_CHECK : ""}    http-check expect status 200
    # A draining server answers 503: it gets no new sessions and keeps the ones that it has.
    default-server check inter 1s fall 3 rise 1 maxconn ${connectionLimit(topology)}${discovery === undefined ? "" : " resolvers cluster resolve-prefer ipv4 init-addr none"}
${discovery === undefined ? renderServers(backends) : renderPlaces(topology, discovery.name)}`;
}

function renderResolvers(graceSeconds: number): string {
  return `resolvers cluster
    parse-resolv-conf
    # Room for the addresses of hundreds of servers in one response; the default fits thirty.
    accepted_payload_size 8192
    hold valid 1s
    hold obsolete ${Math.max(1, graceSeconds)}s

`;
}

/** A reload starts another process, which must learn where sessions live. */
function renderPeers(port: number): string {
  return `# On a reload the old process passes its table to the new one.
peers openenv
    peer openenv unix@/tmp/openenv-haproxy-${port}.sock

`;
}

const NO_SHARED_PORT = `    # Another job's HAProxy at the same port would get every second connection.
    noreuseport
`;
const NAMED_CHECK = `    # Another job may start a server at the address of one that has ended; that server rejects this name.
    http-check send hdr openenv-deployment ${JOB_DEPLOYMENT}
`;

function renderMetrics({ host, metricsPort }: Topology["balancer"], isJob: boolean): string {
  if (metricsPort === undefined) return "";
  return `# For Prometheus. Anyone who can reach the port can read it.
frontend metrics
    bind ${host}:${isJob ? JOB_METRICS_PORT : metricsPort}${host === "::" ? " v4v6" : ""}
    http-request use-service prometheus-exporter if { path /metrics }
    http-request return status 404

`;
}

function renderPlaces(topology: Topology, name: string): string {
  return `    # Twice the number of servers: a replaced server keeps its slot until its sessions have ended.
    server-template env ${2 * mostNodes(topology)} ${name}:${topology.port}\n`;
}

function renderServers(backends: readonly Backend[]): string {
  return backends.map(({ host, port }, index) => `    server env${index + 1} ${host}:${port}\n`).join("");
}
