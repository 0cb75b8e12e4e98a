import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { IMAGE, render } from "../../../test-support/deploy/render-cases.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { requirePrometheus } from "../../../test-support/requirement.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { renderYaml } from "./yaml.js";

const prometheus = await requirePrometheus();
const { start } = useServers();
/** The scrape interval is 15 s, the first scrape has a random offset, and Prometheus needs time to start. */
const LIMIT = { timeout: 90_000 };

interface Target {
  health: string;
  lastError: string;
  scrapeUrl: string;
  labels: Record<string, string>;
}

test.skipIf(!prometheus.available)(
  "Prometheus scrapes a server with the operator's token by the rendered job; a server with another token is down with 401",
  LIMIT,
  async () => {
    const server = await start(WITH_OPERATOR);
    const other = await start({ operatorToken: "another token" });
    await using running = await startPrometheus([server.port, other.port]);
    const [target, refused] = await running.scraped();
    expect(target).toMatchObject({ health: "up", lastError: "", scrapeUrl: `${server.url}/metrics` });
    expect(target?.labels["job"]).toBe(IMAGE.name);
    expect(refused).toMatchObject({ health: "down", lastError: expect.stringContaining("401") });
    const { result } = await running.ask<{ result: { value: [number, string] }[] }>("query?query=openenv_sessions_max");
    expect(result.map(({ value }) => Number(value[1]))).toEqual([100]);
    const { groups } = await running.ask<{ groups: { name: string; rules: object[] }[] }>("rules");
    expect(groups.map(({ name, rules }) => [name, rules.length])).toEqual([[IMAGE.name, 14]]);
  },
);

/** Uses the files of `openenv deploy render`, except the path of the token. */
async function startPrometheus(ports: readonly number[]) {
  const folder = await mkdtemp(join(tmpdir(), "openenv-prometheus-"));
  const targets = ports.map((port) => `127.0.0.1:${port}`);
  const files = render({ target: "monitoring", topology: IMAGE, backends: targets });
  const config = parseDocument(files["prometheus.yaml"] ?? "").toJS();
  const credentials = join(folder, "token");
  config.scrape_configs[0].authorization.credentials_file = credentials;
  await writeFile(credentials, `${OPERATOR_TOKEN}\n`);
  await writeFile(join(folder, "alerts.yaml"), files["alerts.yaml"] ?? "");
  await writeFile(join(folder, "prometheus.yaml"), renderYaml(config));
  const port = await findFreePort();
  const args = {
    "config.file": join(folder, "prometheus.yaml"),
    "storage.tsdb.path": join(folder, "data"),
    "web.listen-address": `127.0.0.1:${port}`,
    "log.level": "error",
  };
  const child = spawn(
    prometheus.path,
    Object.entries(args).map(([name, value]) => `--${name}=${value}`),
    { stdio: "inherit" },
  );
  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await answer.json()) as { data: T }).data;
  };
  return {
    ask,
    /** The servers ordered by port, once each was scraped. */
    async scraped(): Promise<(Target | undefined)[]> {
      let found: (Target | undefined)[] = [];
      const unasked = async () => {
        const { activeTargets } = await ask<{ activeTargets: Target[] }>("targets");
        found = targets.map((address) => activeTargets.find(({ scrapeUrl }) => scrapeUrl.includes(`//${address}/`)));
        return found.filter((target) => (target?.health ?? "unknown") === "unknown").length;
      };
      await expect.poll(() => unasked().catch(() => ports.length), { timeout: 60_000 }).toBe(0);
      return found;
    },
    async [Symbol.asyncDispose]() {
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
