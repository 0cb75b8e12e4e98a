import { expect, test } from "vitest";
import { BALANCERS, startBalancer } from "../../../test-support/deploy/balancers.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { CONNECTIONS } from "./monitoring/metric.js";

const { start } = useServers();
for (const kind of ["haproxy", "envoy"] as const) {
  const component = await BALANCERS[kind].require();
  test.skipIf(!component.available)(
    `${kind} tells Prometheus of its connections at metricsPort, and nothing else there`,
    async () => {
      const { port } = await start();
      const [metricsPort, admin] = [await findFreePort(), await findFreePort()];
      const edit = (text: string): string =>
        text.replace("port_value: 0 }", `port_value: ${admin} }`).replace("port_value: 9901", `port_value: ${admin}`);
      const backends = [`127.0.0.1:${port}`];
      await using balancer = await startBalancer(kind, component.path, { backends, metricsPort, edit });
      await using socket = await openTestSocket(`${balancer.url}/ws`);
      await socket.ask({ type: "reset" });
      const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
      expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
      const [name, label] = CONNECTIONS[kind];
      const open = new RegExp(`^${name}\\{${label}\\} (\\d+)$`, "m").exec(await response.text())?.[1];
      expect(Number(open)).toBeGreaterThan(0);
      for (const path of ["/", "/quitquitquit", "/health"]) {
        expect((await fetch(`http://127.0.0.1:${metricsPort}${path}`)).status).toBe(404);
      }
    },
    60_000,
  );
}
