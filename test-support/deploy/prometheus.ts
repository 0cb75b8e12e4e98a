import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { renderYaml } from "../../packages/deploy/src/yaml.js";
import { findFreePort } from "../free-port.js";
import { OPERATOR_TOKEN } from "../operator.js";

export interface Target {
  health: string;
  lastError: string;
  scrapeUrl: string;
  labels: Record<string, string>;
}

/**
 * Starts a Prometheus with a rendered configuration, the token of the operator, and files next to the configuration.
 * `ask` asks its API.
 */
export async function startPrometheus(
  path: string,
  {
    config,
    files = {},
    token = OPERATOR_TOKEN,
  }: { config: PrometheusConfig; files?: Record<string, string>; token?: string },
) {
  const folder = await mkdtemp(join(tmpdir(), "openenv-prometheus-"));
  const credentials = join(folder, "token");
  for (const job of config.scrape_configs) {
    if (job.authorization !== undefined) job.authorization.credentials_file = credentials;
  }
  const all = { ...files, token: `${token}\n`, "prometheus.yaml": renderYaml(config) };
  for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text);
  const port = await findFreePort();
  const args = {
    "config.file": join(folder, "prometheus.yaml"),
    "storage.tsdb.path": join(folder, "data"),
    "web.listen-address": `127.0.0.1:${port}`,
    "log.level": "error",
  };
  const child = spawn(
    path,
    Object.entries(args).map(([name, value]) => `--${name}=${value}`),
    { stdio: "inherit" },
  );
  return {
    folder,
    async ask<T>(query: string): Promise<T> {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${query}`);
      return ((await answer.json()) as { data: T }).data;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        const ended = once(child, "exit");
        child.kill("SIGTERM");
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface PrometheusConfig {
  scrape_configs: { authorization?: { credentials_file: string }; [name: string]: unknown }[];
  [name: string]: unknown;
}
