import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../openenv/src/errors.js";
import { parseManifest } from "./parse-manifest.js";
import { findManifest, readManifest } from "./read-manifest.js";

const ROOT = join(import.meta.dirname, "../../../..");
const MINIMAL = "name: my_env\n";

const VALIDATION = `name: my_env
validation:
  reward: { range: [0, 1], floor_margin: 0.1 }
  resources: { cpu: 1, memory_mb: 256, disk_mb: 256, episode_timeout_s: 60 }
  capabilities:
    verifier: { kind: reward_channel }
  types: { tags: [game] }
`;

function problemOf(text: string): string {
  try {
    parseManifest(text, "openenv.yaml");
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error("the manifest was taken");
}

describe("a manifest", () => {
  test("with only a name has the defaults", () => {
    expect(parseManifest(MINIMAL, "openenv.yaml")).toEqual({
      spec_version: 1,
      name: "my_env",
      type: "space",
      runtime: "node",
      port: 8000,
      variables: {},
      plugins: [],
    });
  });

  test("of the Python package is accepted with other fields", () => {
    const text = `spec_version: 1
name: my_env
version: 0.1.0
type: space
runtime: fastapi
app: server.app:app
port: 7860
action: MyAction
observation: MyObservation
variables: { LEVEL: 3, LOUD: true, TEXT: "no" }
hardware: cpu-basic
`;
    const manifest = parseManifest(text, "openenv.yaml");
    expect(manifest).toMatchObject({ version: "0.1.0", runtime: "fastapi", app: "server.app:app", port: 7860 });
    expect(manifest.variables).toEqual({ LEVEL: "3", LOUD: "true", TEXT: "no" });
  });

  test("may have the validation block, whose defaults are filled in", () => {
    const { validation } = parseManifest(VALIDATION, "openenv.yaml");
    expect(validation).toMatchObject({
      reward: { range: [0, 1], oracle_tolerance: 0, floor_margin: 0.1 },
      resources: { gpus: 0, gpu_types: [] },
      capabilities: { set_state: false, llm_judged: false, declared_tools: [] },
      network: { mode: "public", allowed_hosts: [] },
    });
    expect(validation?.execution).toBeUndefined();
  });

  test.each(["echo", "benchmark", "coding", "support", "wordle"])("is valid in the environment %s", async (name) => {
    const manifest = await readManifest(join(ROOT, "envs", name));
    expect(manifest).toMatchObject({ name: `${name}_env`, runtime: "node" });
    expect(await readFile(join(ROOT, "envs", name, manifest.environment ?? ""), "utf8")).toContain("export default");
  });
});

describe("a manifest as people write it", () => {
  test("may have a version without quotes, which keeps its zeros, and a port in quotes", () => {
    const manifest = parseManifest(`${MINIMAL}version: 1.10\nport: "7860"\n`, "openenv.yaml");
    expect(manifest).toMatchObject({ version: "1.10", port: 7860, runtime: "node" });
  });

  test.each([
    ["runtime: { app: server/app.py, port: 7860 }", { app: "server.app:app", port: 7860 }],
    ["runtime: fastapi\napp: server.app:app\nenvironment: { data: { split: test } }", { app: "server.app:app" }],
    ["version: 1.0\nentry_point: game.main:server", { app: "game.main:server", version: "1.0" }],
    ["runtime: { language: python }\nport: 9000", { port: 9000 }],
    ["runtime: docker\napp: ./server/app.py", { app: "server.app:app" }],
  ])("is one of Python: %j", (lines, fields) => {
    const warnings: string[] = [];
    const onWarning = (line: string) => warnings.push(line);
    const manifest = parseManifest(`${MINIMAL}${lines}\n`, "openenv.yaml", { onWarning });
    expect(manifest).toMatchObject({ runtime: "fastapi", ...fields });
    expect(manifest.environment).toBeUndefined();
    expect(warnings).toEqual([]);
  });

  test("of Python with another problem says first how the environment is served", () => {
    const problem = () =>
      parseManifest("name: a b\nruntime: { app: server/app.py }\n", "openenv.yaml", { dir: "/e v" });
    expect(problem).toThrow(
      /^This is a Python environment\. Serve it with uv: uv run --isolated --with openenv -- uvicorn server\.app:app --app-dir '\/e v' --port 8000 .*\nopenenv\.yaml:1: name must be /,
    );
  });

  test("warns of unknown fields, with the nearest name", () => {
    const warnings: string[] = [];
    const text = VALIDATION.replace("validation:", "enviroment: game.ts\nhardware: cpu\nvalidation:\n  networks: {}");
    parseManifest(text, "openenv.yaml", { onWarning: (line) => warnings.push(line) });
    expect(warnings).toEqual([
      'openenv.yaml:2: the unknown field "enviroment" is ignored; did you mean environment?',
      'openenv.yaml:3: the unknown field "hardware" is ignored',
      'openenv.yaml:5: the unknown field "validation.networks" is ignored; did you mean validation.network?',
    ]);
  });
});

describe("problems of a manifest are reported with their line", () => {
  test.each([
    ["version: '1'\n", "openenv.yaml:1: name is required (name of the environment, also"],
    ["name: 7\n", "openenv.yaml:1: name must be a string (put it in quotes), got 7 ("],
    ["name: a b\n", "openenv.yaml:1: name must be a letter, then letters, digits, _ or -"],
    [`${MINIMAL}port: "http"\n`, 'openenv.yaml:2: port must be a number, got "http" (port of the server'],
    [`${MINIMAL}port: 0\n`, "openenv.yaml:2: port must be at least 1, got 0 ("],
    [`${MINIMAL}port: 70000\n`, "openenv.yaml:2: port must be at most 65535, got 70000 ("],
    [`${MINIMAL}version: [1]\n`, "openenv.yaml:2: version must be a string (put it in quotes), got [1] ("],
    [`${MINIMAL}environment: { a: 1 }\n`, "openenv.yaml:2: environment must be a string (put it in quotes), got {"],
    [`${MINIMAL}spec_version: 2\n`, "openenv.yaml:2: spec_version must be 1, got 2 ("],
    [`${MINIMAL}environment: ../other.ts\n`, "openenv.yaml:2: environment must be a relative path inside this folder"],
    [
      `${MINIMAL}environment: /etc/other.ts\n`,
      "openenv.yaml:2: environment must be a relative path inside this folder",
    ],
    [`${MINIMAL}variables: [a]\n`, 'openenv.yaml:2: variables must be a mapping, got ["a"] ('],
    [
      `${MINIMAL}variables:\n  A: 1\n  B: [2]\n`,
      "openenv.yaml:4: variables.B must be a string, a number, true or false",
    ],
    [
      `${MINIMAL}variables: { "A B": 1 }\n`,
      "openenv.yaml:2: variables.A B must be renamed to letters, digits and _, got",
    ],
    [
      `${MINIMAL}variables:\n  A: 1\n  ALLOWED_ORIGINS: "*"\n`,
      "openenv.yaml:4: variables.ALLOWED_ORIGINS cannot be set in a manifest; the operator can",
    ],
    [`${MINIMAL}variables: { PORT: 1 }\n`, "openenv.yaml:2: variables.PORT cannot be set in a manifest; set the field"],
    [
      `${MINIMAL}variables: { OPENENV_OPERATOR_TOKEN: known }\n`,
      "openenv.yaml:2: variables.OPENENV_OPERATOR_TOKEN looks like a secret, which a manifest must not contain; pass",
    ],
    [`${MINIMAL}name: other\n`, "openenv.yaml:2: Map keys must be unique; fix the YAML."],
    [`${MINIMAL}type: "space\n`, "openenv.yaml:3: Missing closing"],
    ["- name\n", 'openenv.yaml:1: must be a mapping with fields such as "name: my_env".'],
    ["", "openenv.yaml:1: must be a mapping"],
    [
      VALIDATION.replace("range", "rang"),
      'openenv.yaml:3: validation.reward has the unknown field "rang"; remove it, or use range.',
    ],
    [VALIDATION.replace("[0, 1]", "[1, 0]"), "openenv.yaml:3: validation.reward.range must be [low, high] with low"],
    [
      VALIDATION.replace("cpu: 1", "cpu: 0"),
      "openenv.yaml:4: validation.resources.cpu must be greater than 0, got 0 (",
    ],
    [
      VALIDATION.replace("reward_channel", "script"),
      "openenv.yaml:6: validation.capabilities.verifier must have entry if",
    ],
    [VALIDATION.replace("[game]", "[]"), "openenv.yaml:7: validation.types.tags must be at least 1 items long"],
    [`${VALIDATION}  judge: { model: a, version: b }\n`, "openenv.yaml:3: validation must have judge if, and only if"],
    ...["dockerfile: ../Dockerfile", "context: https://example.org/x.git", "probe_path: /etc/hostname"].map((field) => [
      `${VALIDATION}  execution: { ${field} }\n`,
      `openenv.yaml:8: validation.execution.${field.split(":")[0]} must be a relative path inside this folder`,
    ]),
  ])("%j", (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });

  test("each problem has its own line", () => {
    expect(problemOf("port: x\nvariables: 3\n").split("\n")).toHaveLength(3);
  });

  test("aliases that expand exponentially are rejected", () => {
    const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i}, `.repeat(9)}*l${i}]`);
    expect(problemOf(`name: my_env\nl0: &l0 [x, x, x, x]\n${levels.join("\n")}\n`)).toContain(
      "replace the aliases with their values",
    );
  });

  test("a file of a megabyte is rejected", () => {
    expect(problemOf(`name: my_env # ${"x".repeat(1_000_000)}`)).toContain("is longer than 262144 characters");
  });
});

test("reading a folder without a manifest is an error if a manifest is required", async () => {
  const dir = await mkdtemp(join(tmpdir(), "openenv-manifest-"));
  try {
    expect(await findManifest(dir)).toBeUndefined();
    await expect(readManifest(dir)).rejects.toThrow(/No openenv\.yaml in .*; pass the folder/);
    await writeFile(join(dir, "openenv.yaml"), "name: [\n");
    await expect(readManifest(dir)).rejects.toThrow(/openenv\.yaml:\d+: .*; fix the YAML/);
    expect(await readdir(dir)).toEqual(["openenv.yaml"]);
  } finally {
    await rm(dir, { recursive: true });
  }
});
