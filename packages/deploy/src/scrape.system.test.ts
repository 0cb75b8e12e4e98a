import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { type PrometheusConfig, startPrometheus, type Target } from "../../../test-support/deploy/prometheus.js";
import { IMAGE, render } from "../../../test-support/deploy/render-cases.js";
import { WITH_OPERATOR } from "../../../test-support/operator.js";
import { requirePrometheus } from "../../../test-support/requirement.js";
import { useServers } from "../../../test-support/servers/servers.js";

const prometheus = await requirePrometheus();
const { start } = useServers();
/** The scrape interval is 15 s, the first scrape has a random offset, and Prometheus needs time to start. */
const LIMIT = { timeout: 90_000 };

test.skipIf(!prometheus.available)(
  "Prometheus scrapes a server with the operator's token by the rendered job; a server with another token is down with 401",
  LIMIT,
  async () => {
    const server = await start(WITH_OPERATOR);
    const other = await start({ operatorToken: "another token" });
    await using running = await startRendered([server.port, other.port]);
    const [target, refused] = await running.scraped();
    expect(target).toMatchObject({ health: "up", lastError: "", scrapeUrl: `${server.url}/metrics` });
    expect(target?.labels["job"]).toBe(IMAGE.name);
    expect(refused).toMatchObject({ health: "down", lastError: expect.stringContaining("401") });
    type Found = { result: { value: [number, string] }[] };
    const most = async () =>
      (await running.ask<Found>("query?query=openenv_sessions_max")).result.map((one) => one.value[1]);
    // A target is up a moment before its samples are stored.
    await expect.poll(most).toEqual(["100"]);
    const { groups } = await running.ask<{ groups: { name: string; rules: object[] }[] }>("rules");
    expect(groups.map(({ name, rules }) => [name, rules.length])).toEqual([[IMAGE.name, 16]]);
  },
);

/** Uses the files of `openenv deploy render`, except the path of the token. */
async function startRendered(ports: readonly number[]) {
  const targets = ports.map((port) => `127.0.0.1:${port}`);
  const files = render({ target: "monitoring", topology: IMAGE, backends: targets });
  const config = parseDocument(files["prometheus.yaml"] ?? "").toJS() as PrometheusConfig;
  const running = await startPrometheus(prometheus.path, {
    config,
    files: { "alerts.yaml": files["alerts.yaml"] ?? "" },
  });
  return {
    ...running,
    /** The servers ordered by port, once each was scraped. */
    async scraped(): Promise<(Target | undefined)[]> {
      let found: (Target | undefined)[] = [];
      const unasked = async () => {
        const { activeTargets } = await running.ask<{ activeTargets: Target[] }>("targets");
        found = targets.map((address) => activeTargets.find(({ scrapeUrl }) => scrapeUrl.includes(`//${address}/`)));
        return found.filter((target) => (target?.health ?? "unknown") === "unknown").length;
      };
      await expect.poll(() => unasked().catch(() => ports.length), { timeout: 60_000 }).toBe(0);
      return found;
    },
  };
}
