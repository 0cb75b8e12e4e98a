/** Proxies that say nothing about who sent a request: to the server, all of them come from its own machine. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { expectNoOperator } from "../../../../../test-support/clients/stranger.js";
import { BALANCERS, NGINX, run } from "../../../../../test-support/deploy/balancers.js";
import { findFreePort } from "../../../../../test-support/free-port.js";
import { useServers } from "../../../../../test-support/servers/servers.js";

const { start } = useServers();

const CONFIGS = {
  nginx: (port: number, server: string) => `
error_log stderr warn;
events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://${server};
    }
  }
}
`,
  haproxy: (port: number, server: string) => `
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}
  default_backend servers
backend servers
  server one ${server}
`,
};

for (const [kind, { require, args }] of Object.entries({ nginx: NGINX, haproxy: BALANCERS.haproxy })) {
  const component = await require();

  test.skipIf(!component.available)(
    `who comes by way of ${kind} is no operator of a server without a token`,
    async () => {
      const server = await start();
      const folder = await mkdtemp(join(tmpdir(), "openenv-proxy-"));
      const [config, port] = [join(folder, "config"), await findFreePort()];
      await writeFile(config, CONFIGS[kind as keyof typeof CONFIGS](port, new URL(server.url).host));
      const url = `http://127.0.0.1:${port}`;
      const proxy = await run(component.path, args(config), { url });
      try {
        await expectNoOperator(server, url);
      } finally {
        await proxy.end();
        await rm(folder, { recursive: true, force: true });
      }
    },
  );
}
