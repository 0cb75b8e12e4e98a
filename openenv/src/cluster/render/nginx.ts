import { ConfigError } from "../../errors.js";
import { type Backend, hasAddress, type Topology } from "../topology.js";
import { connectionLimit, countDescriptors, totalLimit } from "./limits.js";

/**
 * The text of `nginx.conf`, a whole one.
 * @throws ConfigError for a backend without an address: nginx tells its servers apart by address.
 */
export function renderNginx(topology: Topology, backends: readonly Backend[]): string {
  const { balancer, name, workers, capacity } = topology;
  const hostless = backends.find((backend) => !hasAddress(backend));
  if (hostless !== undefined) {
    throw new ConfigError(
      `nginx tells the servers of sessions apart by address: give the address of ${hostless.host}, or take haproxy or envoy.`,
    );
  }
  const limit = totalLimit(topology, backends.length);
  const each = (render: (address: string, id: string) => string): string =>
    backends.map(({ host, port }, index) => render(`${host}:${port}`, `s${index + 1}`)).join("");
  return `# nginx before the servers of ${name}: ${backends.length} x ${workers} workers x ${capacity} sessions.
worker_processes auto;
# A connection takes two descriptors.
worker_rlimit_nofile ${countDescriptors(limit)};
error_log stderr warn;

events {
    # The client's and the server's side of each.
    worker_connections ${countDescriptors(limit)};
}

http {
    access_log off;
    server_tokens off;
    map_hash_bucket_size 256;

    upstream ${name} {
        zone ${name} 256k;
        least_conn;
${each((address) => `        server ${address} max_conns=${connectionLimit(topology)} max_fails=1 fail_timeout=1s;\n`)}    }
    # For the sessions of one server. When it is gone, another says that they are.
${backends.map((_, index) => renderOwner(name, backends, index)).join("")}
    # Sessions live in one server. The name of a server goes out at the end of its sessions' ids and in a cookie, and
    # leads back: nothing is kept here, so nothing is forgotten by a restart. Of several that were tried, the last answered.
    map $upstream_addr $server_id {
        default "";
${each((address, id) => `        "~(^|[ ,])${address.replaceAll(/[.[\]]/g, "\\$&")}$" ${id};\n`)}    }
    map $upstream_http_openenv_session $session_out {
        default $upstream_http_openenv_session.$server_id;
        "" "";
        none none;
    }
    map $upstream_http_mcp_session_id $mcp_session_out {
        default $upstream_http_mcp_session_id.$server_id;
        "" "";
    }
    map $http_openenv_session $session_in {
        default $http_openenv_session;
        "~^(?<session_id>.+)\\.s\\d+$" $session_id;
    }
    map $http_mcp_session_id $mcp_session_in {
        default $http_mcp_session_id;
        "~^(?<mcp_id>.+)\\.s\\d+$" $mcp_id;
    }
    map $cookie_openenv_server $by_cookie {
        default ${name};
${each((_address, id) => `        ${id} ${name}-${id};\n`)}    }
    map $http_openenv_session$http_mcp_session_id $chosen {
        default $by_cookie;
${each((_address, id) => `        "~\\.${id}$" ${name}-${id};\n`)}    }
    # A connection to the server for each request: one that is kept may be closed at the moment it is used again.
    map $http_upgrade $connection_upgrade {
        default upgrade;
        "" close;
    }

    server {
        listen ${balancer.host === "::" ? "[::]" : balancer.host}:${balancer.port}${balancer.host === "::" ? " ipv6only=off" : ""} backlog=4096;
        client_max_body_size 512m;

        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header Openenv-Session $session_in;
        proxy_set_header Mcp-Session-Id $mcp_session_in;
        proxy_hide_header Openenv-Session;
        proxy_hide_header Mcp-Session-Id;
        add_header Openenv-Session $session_out always;
        add_header Mcp-Session-Id $mcp_session_out always;
        add_header Set-Cookie "openenv_server=$server_id; Path=/; HttpOnly; SameSite=Lax" always;

        proxy_connect_timeout 2s;
        # A socket may be silent for as long as it lives: the server's pings (PING_INTERVAL) start this time anew.
        proxy_read_timeout 7d;
        proxy_send_timeout 7d;
        # Another server only where nothing was sent yet, or a socket was refused: a step is not done twice.
        proxy_next_upstream error timeout http_503;
        proxy_next_upstream_tries 3;
        # Events of MCP go out as they come.
        proxy_buffering off;

        location / {
            proxy_pass http://$chosen;
        }
        # Done twice, the second counts.
        location = /reset {
            proxy_pass http://$chosen;
            proxy_next_upstream error timeout http_503 non_idempotent;
        }
    }
}
`;
}

function renderOwner(name: string, backends: readonly Backend[], index: number): string {
  const servers = [0, 1, 2].flatMap((step) => {
    const { host, port } = backends[(index + step) % backends.length] as Backend;
    // One 503 of the owner, who may be full or drain, does not send its other sessions away.
    return step >= backends.length ? [] : [`server ${host}:${port} ${step === 0 ? "max_fails=0" : "backup"};`];
  });
  return `    upstream ${name}-s${index + 1} { ${servers.join(" ")} }\n`;
}
