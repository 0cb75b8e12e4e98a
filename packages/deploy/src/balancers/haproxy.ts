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

/** The text of `haproxy.cfg`; the lines of the servers are the last. */
export function renderHaproxy(topology: Topology, { backends = [], discovery, isJob = false }: Servers): string {
  const { balancer, graceSeconds } = topology;
  const port = isJob ? JOB_PORT : balancer.port;
  const servers = countServers(topology, backends);
  const resolvers =
    discovery === undefined
      ? ""
      : `resolvers cluster
    parse-resolv-conf
    # The addresses of hundreds of servers in one answer; the default is thirty.
    accepted_payload_size 8192
    hold valid 1s
    hold obsolete ${Math.max(1, graceSeconds)}s

`;
  return `# HAProxy before the servers of ${topology.name}: ${servers} x ${topology.workers} workers x ${topology.capacity} sessions.
${renderDescriptors(totalLimit(topology, servers))}global
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
    # A step may think for long; the server has limits of its own.
    timeout client 1h
    timeout server 1h
    # A socket may be silent for as long as it lives: the server's pings (PING_INTERVAL) start this time anew.
    timeout tunnel 7d
    timeout client-fin 30s
    # A connection to the server for each request: one that is kept may be closed at the moment it is used again, and
    # HAProxy would close the client's without an answer.
    option http-server-close
    # Another server when one refuses a connection, at once and not after retrying the same.
    retries 3
    option redispatch 1

${isJob ? "" : renderPeers(balancer.port)}${resolvers}frontend openenv
    bind ${balancer.host}:${port}${balancer.host === "::" ? " v4v6" : ""}
    option forwardfor
    default_backend openenv

${renderMetrics(balancer, isJob)}backend openenv
    balance leastconn
    # A session that lives in one server: who names it is led there. HAProxy learns its id from the server's answer.
    # A plain request of MCP names it in its body, and a socket that joins it in its URL.
    # Without a time after which a silent one is forgotten: the oldest of a million make room.
    stick-table type string len 128 size 1m${isJob ? "" : " peers openenv"}
    option http-buffer-request
    stick match req.hdr(openenv-session)
    stick match req.hdr(mcp-session-id)
    stick match url_param(session_id)
    stick match req.cook(openenv_session_${port})
    stick match req.cook(openenv_session)
    stick match req.body,json_query('$.params.session_id') if { path /mcp } { method POST }
    stick store-response res.hdr(openenv-session) unless { res.hdr(openenv-session) none }
    stick store-response res.hdr(mcp-session-id)
    # Also to one whose check fails, because it drains or is late; only a connection that fails leads elsewhere.
    option persist
    # Sent to a server that is gone, a request is answered by another: "no such session", which a client understands.
    option httpchk GET /health
${isJob ? NAMED_CHECK : ""}    http-check expect status 200
    # A server that drains answers 503: it gets no new session, and those it has go on.
    default-server check inter 1s fall 3 rise 1 maxconn ${connectionLimit(topology)}${discovery === undefined ? "" : " resolvers cluster resolve-prefer ipv4 init-addr none"}
${discovery === undefined ? renderServers(backends) : renderPlaces(topology, discovery.name)}`;
}

/** A reload starts another process, which has to learn where sessions live. */
function renderPeers(port: number): string {
  return `# On a reload the old process hands its table over to the new one.
peers openenv
    peer openenv unix@/tmp/openenv-haproxy-${port}.sock

`;
}

const NO_SHARED_PORT = `    # Another job's HAProxy at the same port would get every second connection.
    noreuseport
`;
const NAMED_CHECK = `    # Another job may start a server at the address of one that has ended: it refuses this name.
    http-check send hdr openenv-deployment ${JOB_DEPLOYMENT}
`;

function renderMetrics({ host, metricsPort }: Topology["balancer"], isJob: boolean): string {
  if (metricsPort === undefined) return "";
  return `# For Prometheus, and for any caller that reaches the port.
frontend metrics
    bind ${host}:${isJob ? JOB_METRICS_PORT : metricsPort}${host === "::" ? " v4v6" : ""}
    http-request use-service prometheus-exporter if { path /metrics }
    http-request return status 404

`;
}

function renderPlaces(topology: Topology, name: string): string {
  return `    # Twice as many as there are: one that is replaced keeps its place until its sessions have ended.
    server-template env ${2 * mostNodes(topology)} ${name}:${topology.port}\n`;
}

function renderServers(backends: readonly Backend[]): string {
  return backends.map(({ host, port }, index) => `    server env${index + 1} ${host}:${port}\n`).join("");
}
