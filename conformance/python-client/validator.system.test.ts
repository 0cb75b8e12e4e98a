/** Our validator and the released one must report the same about the same servers and packages. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { serve } from "openenv-ts/server";
import { describe, expect, test } from "vitest";
import { runCommand } from "../../test-support/commands/command-line.js";
import { startForeignServer } from "../../test-support/other-servers/foreign-server.js";
import { requirePython } from "../../test-support/requirement.js";
import { counter } from "../environments/counter.js";

const python = await requirePython();
const LIMIT = { timeout: 300_000 };
const HTTP_CHECKS = [
  "openapi_version_available",
  "health_endpoint",
  "metadata_endpoint",
  "schema_endpoint",
  "mcp_endpoint",
  "mode_endpoint_consistency",
];

interface Running {
  standard_version: string;
  standard_profile: string;
  mode: string;
  criteria: { id: string; passed: boolean; required: boolean; expected?: unknown; actual?: unknown }[];
}

describe.skipIf(!python.available)("the released validator", () => {
  test("reports the same as ours about our server, in both modes", LIMIT, async () => {
    const options = { port: 0, logLevel: "silent", maxConcurrentEnvs: 3 } as const;
    await using open = await serve(counter, options);
    await using production = await serve(counter, { ...options, mode: "production" });
    const urls = [open.url, production.url];
    const theirs = await askPython<Running>(RUNNING, urls);
    const ours = await Promise.all(urls.map(validateUrl));
    expect(ours.map(comparable)).toEqual(theirs.map(comparable));
    expect(ours.map(({ mode }) => mode)).toEqual(["simulation", "production"]);
  });

  test("reports the same as ours about a server with one defect", LIMIT, async () => {
    const servers = await Promise.all(HTTP_CHECKS.map((id) => startForeignServer(id)));
    try {
      const urls = servers.map(({ url }) => url);
      const theirs = await askPython<Running>(RUNNING, urls);
      const ours = await Promise.all(urls.map(validateUrl));
      // If the document has no version, the released validator does not check its paths either.
      expect(ours.map(failures)).toEqual(HTTP_CHECKS.map((id) => [id]));
      const rest = ours.map(failures).slice(1);
      expect(theirs.map(failures)).toEqual([["openapi_version_available", "mode_endpoint_consistency"], ...rest]);
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
    }
  });

  test("reports the same as ours about a package at the static level", LIMIT, async () => {
    const dir = await mkdtemp(join(tmpdir(), "openenv-validator-"));
    try {
      const reports = MANIFESTS.map(async (text, nth) => {
        const folder = await mkdtemp(join(dir, `${nth}-`));
        await writeFile(join(folder, "openenv.yaml"), text);
        await writeFile(join(folder, "README.md"), "# A package\n");
        const { stdout } = await runCommand(["validate", folder, "--level", "static", "--json"], { cwd: dir });
        return JSON.parse(stdout) as Package;
      });
      const ours = await Promise.all(reports);
      const theirs = await askPython<Package>(
        PACKAGE,
        ours.map(({ target }) => target),
      );
      expect(ours.map(withoutWording)).toEqual(theirs.map(withoutWording));
      expect(ours.map(({ verdict }) => verdict)).toEqual(["pass", "pass", "fail", "fail", "fail"]);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});

const BLOCK = `validation:
  reward: { range: [0, 1], floor_margin: 0.1 }
  resources: { cpu: 1, memory_mb: 256, disk_mb: 64, episode_timeout_s: 60 }
  capabilities:
    verifier: { kind: reward_channel }
  types: { tags: [game] }
`;
const MANIFESTS = [
  `name: a_env\nversion: "1"\n${BLOCK}`,
  `name: b_env\n${BLOCK}  execution: {}\n  network: { mode: no-network }\n`,
  `name: c_env\n${BLOCK.replace("floor_margin: 0.1", "floor_margin: 0.05, oracle_tolerance: 0.5")}`,
  "name: d_env\n",
  `name: e_env\n${BLOCK.replace("cpu: 1", "cpu: many")}`,
];

interface Package {
  target: string;
  verdict: string;
  results: { check_id: string; status: string; measured: object; evidence: string[] }[];
}

/** Removes durations, wording and the number of schema errors, which may differ. */
function withoutWording({ results, ...report }: Package): object {
  return {
    ...report,
    results: results.map(({ check_id, status, measured, evidence }) => ({
      check_id,
      status,
      ...("bounds" in measured && { measured, problems: evidence.length }),
    })),
  };
}

function comparable({ standard_version, standard_profile, mode, criteria }: Running): object {
  const looked = criteria.filter(isHttp).map(({ id, passed, required, expected, actual }) => {
    return { id, passed, required, expected, actual };
  });
  return { standard_version, standard_profile, mode, looked };
}

function failures({ criteria }: Running): string[] {
  return criteria.filter((criterion) => isHttp(criterion) && !criterion.passed).map(({ id }) => id);
}

function isHttp({ id }: { id: string }): boolean {
  return HTTP_CHECKS.includes(id);
}

async function validateUrl(url: string): Promise<Running> {
  const args = ["validate", url, "--json", "--sessions", "1", "--max-held", "5"];
  return JSON.parse((await runCommand(args, { cwd: import.meta.dirname })).stdout) as Running;
}

const RUNNING = `
from openenv.cli._validation import validate_running_environment
say = validate_running_environment
`;
const PACKAGE = `
from pathlib import Path
from openenv.validation import Level, run_validation
say = lambda folder: json.loads(run_validation(Path(folder), max_level=Level.STATIC).model_dump_json())
`;

/** Returns one answer for each target, from a single process because the import takes seconds. */
async function askPython<T>(how: string, targets: readonly string[]): Promise<T[]> {
  const script = `import json, sys\n${how}\nprint(json.dumps([say(target) for target in sys.argv[1:]]))`;
  const { stdout } = await promisify(execFile)(python.path, ["-c", script, ...targets], { timeout: 280_000 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as T[];
}
