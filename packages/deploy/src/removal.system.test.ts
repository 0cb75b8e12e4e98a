import { expect, test } from "vitest";
import {
  MANY,
  openHttp,
  openOnBoth,
  stepHttp,
  TALLY,
  tallied,
} from "../../../test-support/deploy/balanced-sessions.js";
import { startBalancer } from "../../../test-support/deploy/balancers.js";
import { useMcp } from "../../../test-support/environments/mcp.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { startDnsServer } from "../../../test-support/other-servers/dns-server.js";
import { requireEnvoy } from "../../../test-support/requirement.js";
import { connect } from "../../openenv/src/connect.js";

const { start } = useMcp();
const envoy = await requireEnvoy();

test.skipIf(!envoy.available)(
  "a server that DNS no longer lists gets no new sessions from Envoy, and its sockets stay open",
  { timeout: 60_000 },
  async () => {
    // A DNS name has one port, so the servers differ by address.
    const port = await findFreePort();
    const one = await start({ host: "127.0.0.2", port, maxConcurrentEnvs: 200 });
    const two = await start({ host: "127.0.0.3", port, maxConcurrentEnvs: 200 });
    await using dns = await startDnsServer(["127.0.0.2", "127.0.0.3"]);
    await using balancer = await startBalancer("envoy", envoy.path, {
      backends: [`env.test:${one.server.port}`],
      edit: (text) => askAt(dns.port, text),
    });
    const open = async () => {
      const client = await connect(balancer.url);
      await client.reset();
      return client;
    };
    const openMany = () => Promise.all(Array.from({ length: MANY }, open));
    const named = await openOnBoth({ one, two }, () => openHttp(balancer.url));
    const namedAtOne = one.active();
    const sockets = await openMany();
    expect(one.active()).toBeGreaterThan(namedAtOne);
    dns.use(["127.0.0.3"]);
    // They stay open, so that the removed server would have the fewest connections.
    const newcomers: typeof sockets = [];
    const countNewAtOne = async (): Promise<number> => {
      const before = one.active();
      newcomers.push(...(await openMany()));
      return one.active() - before;
    };
    // All of one batch may go to the other server by chance.
    const countTwice = async () => (await countNewAtOne()) + (await countNewAtOne());
    await expect.poll(countTwice, { timeout: 15_000, interval: 1_000 }).toBe(0);
    for (const client of sockets) expect((await client.step(TALLY)).observation).toMatchObject(tallied(1));
    // Envoy sends no request to an address that is not in its list.
    const answers = await Promise.all(named.map(({ header }) => stepHttp(balancer.url, { "openenv-session": header })));
    const lost = answers.filter(({ status }) => status !== 200);
    expect(lost).toHaveLength(namedAtOne);
    for (const answer of lost) expect(answer).toMatchObject({ status: 404, body: { code: "SESSION_ERROR" } });
    await Promise.all([...sockets, ...newcomers].map((client) => client.close()));
  },
);

/** Envoy uses this DNS server instead of the machine's. */
function askAt(port: number, text: string): string {
  return text.replace(
    /^( +)dns_refresh_rate: .*$/m,
    (line, indent: string) => `${line}
${indent}typed_dns_resolver_config:
${indent}  name: envoy.network.dns_resolver.cares
${indent}  typed_config:
${indent}    "@type": type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig
${indent}    resolvers: [{ socket_address: { address: 127.0.0.1, port_value: ${port} } }]
${indent}    dns_resolver_options: { no_default_search_domain: true }`,
  );
}
