import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { CASES, type Case, IMAGE, render } from "../../../test-support/render-cases.js";
import { requirePrometheus } from "../../../test-support/requirement.js";
import { useServers } from "../../../test-support/servers.js";
import { findFreePort } from "../../util/free-port.js";
import { renderYaml } from "./yaml.js";

const prometheus = await requirePrometheus();
const { start } = useServers();
/** A scrape each 15 s, the first of them at any time of these, and the start. */
const LIMIT = { timeout: 90_000 };

interface Target {
  health: string;
  lastError: string;
  scrapeUrl: string;
  labels: Record<string, string>;
}

test.skipIf(!prometheus.available)(
  "Prometheus scrapes a server with the operator's token by the rendered job",
  LIMIT,
  async () => {
    const server = await start(WITH_OPERATOR);
    await using running = await startPrometheus(server.port, OPERATOR_TOKEN);
    const target = await running.scraped();
    expect(target).toMatchObject({ health: "up", lastError: "", scrapeUrl: `${server.url}/metrics` });
    expect(target.labels["job"]).toBe(IMAGE.name);
    const { result } = await running.ask<{ result: { value: [number, string] }[] }>("query?query=openenv_sessions_max");
    expect(result.map(({ value }) => Number(value[1]))).toEqual([100]);
    const { groups } = await running.ask<{ groups: { name: string; rules: object[] }[] }>("rules");
    expect(groups.map(({ name, rules }) => [name, rules.length])).toEqual([[IMAGE.name, 13]]);
  },
);

test.skipIf(!prometheus.available)(
  "a server that Prometheus has no token of is down, and the reason is 401",
  LIMIT,
  async () => {
    const server = await start(WITH_OPERATOR);
    await using running = await startPrometheus(server.port, "another token");
    expect(await running.scraped()).toMatchObject({ health: "down", lastError: expect.stringContaining("401") });
  },
);

/** With what `openenv deploy render` writes, but for the place of the token and the name that only a swarm resolves. */
async function startPrometheus(serverPort: number, token: string) {
  const folder = await mkdtemp(join(tmpdir(), "openenv-prometheus-"));
  const files = render(CASES["monitoring"] as Case);
  const config = parseDocument(files["prometheus.yaml"] ?? "").toJS();
  const [{ dns_sd_configs: _, ...job }] = config.scrape_configs;
  const credentials = join(folder, "token");
  job.authorization.credentials_file = credentials;
  job.static_configs = [{ targets: [`127.0.0.1:${serverPort}`] }];
  await writeFile(credentials, `${token}\n`);
  await writeFile(join(folder, "alerts.yaml"), files["alerts.yaml"] ?? "");
  await writeFile(join(folder, "prometheus.yaml"), renderYaml({ ...config, scrape_configs: [job] }));
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
    /** The server, once it was asked. */
    async scraped(): Promise<Target> {
      let found: Target | undefined;
      const health = async () => {
        [found] = (await ask<{ activeTargets: Target[] }>("targets")).activeTargets;
        return found?.health ?? "unknown";
      };
      await expect.poll(() => health().catch(() => "unknown"), { timeout: 60_000 }).not.toBe("unknown");
      return found as Target;
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
