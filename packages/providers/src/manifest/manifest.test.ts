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
  test("with nothing but a name has the defaults", () => {
    expect(parseManifest(MINIMAL, "openenv.yaml")).toEqual({
      spec_version: 1,
      name: "my_env",
      type: "space",
      runtime: "node",
      port: 8000,
      variables: {},
    });
  });

  test("of the Python package is read, whatever else stands in it", () => {
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

  test("may have the block of the validator, whose defaults are filled in", () => {
    const { validation } = parseManifest(VALIDATION, "openenv.yaml");
    expect(validation).toMatchObject({
      reward: { range: [0, 1], oracle_tolerance: 0, floor_margin: 0.1 },
      resources: { gpus: 0, gpu_types: [] },
      capabilities: { set_state: false, llm_judged: false, declared_tools: [] },
      network: { mode: "public", allowed_hosts: [] },
    });
    expect(validation?.execution).toBeUndefined();
  });

  test.each(["echo", "benchmark", "coding", "wordle"])("stands in the environment %s", async (name) => {
    const manifest = await readManifest(join(ROOT, "envs", name));
    expect(manifest).toMatchObject({ name: `${name}_env`, runtime: "node" });
    expect(await readFile(join(ROOT, "envs", name, manifest.environment ?? ""), "utf8")).toContain("export default");
  });
});

describe("what is wrong with a manifest is said with its line", () => {
  test.each([
    ["version: '1'\n", "openenv.yaml:1: name is missing; add it. It is: the environment's name"],
    ["name: 7\n", "openenv.yaml:1: name must be text (put it in quotes), and is 7."],
    ["name: a b\n", "openenv.yaml:1: name must be a letter, then letters, digits, _ or -"],
    [`${MINIMAL}port: "8000"\n`, 'openenv.yaml:2: port must be a number, and is "8000". It is: port of the server'],
    [`${MINIMAL}port: 0\n`, "openenv.yaml:2: port must be at least 1, and is 0."],
    [`${MINIMAL}port: 70000\n`, "openenv.yaml:2: port must be at most 65535, and is 70000."],
    [`${MINIMAL}version: 0.1\n`, "openenv.yaml:2: version must be text (put it in quotes), and is 0.1."],
    [`${MINIMAL}spec_version: 2\n`, "openenv.yaml:2: spec_version must be 1, and is 2."],
    [`${MINIMAL}environment: ../other.ts\n`, "openenv.yaml:2: environment must be a path in this folder"],
    [`${MINIMAL}environment: /etc/other.ts\n`, "openenv.yaml:2: environment must be a path in this folder"],
    [`${MINIMAL}variables: [a]\n`, 'openenv.yaml:2: variables must be a group of fields, and is ["a"].'],
    [`${MINIMAL}variables:\n  A: 1\n  B: [2]\n`, "openenv.yaml:4: variables.B must be text, a number, true or false"],
    [
      `${MINIMAL}variables: { "A B": 1 }\n`,
      "openenv.yaml:2: variables.A B must be called otherwise, with letters, digits and _, and is",
    ],
    [
      `${MINIMAL}variables:\n  A: 1\n  ALLOWED_ORIGINS: "*"\n`,
      "openenv.yaml:4: variables.ALLOWED_ORIGINS is not a variable that a manifest may set; remove it. The operator can",
    ],
    [
      `${MINIMAL}variables: { PORT: 1 }\n`,
      "openenv.yaml:2: variables.PORT is not a variable of a manifest; set the field",
    ],
    [
      `${MINIMAL}variables: { OPENENV_OPERATOR_TOKEN: known }\n`,
      "openenv.yaml:2: variables.OPENENV_OPERATOR_TOKEN looks like a secret, which a manifest must not contain; remove",
    ],
    [`${MINIMAL}name: other\n`, "openenv.yaml:2: Map keys must be unique; mend the YAML."],
    [`${MINIMAL}type: "space\n`, "openenv.yaml:3: Missing closing"],
    ["- name\n", 'openenv.yaml:1: is no list of fields; write "name: my_env" and so on.'],
    ["", "openenv.yaml:1: is no list of fields"],
    [VALIDATION.replace("range", "rang"), 'openenv.yaml:3: validation.reward has no field "rang"; remove it'],
    [VALIDATION.replace("[0, 1]", "[1, 0]"), "openenv.yaml:3: validation.reward.range must be [low, high] with low"],
    [VALIDATION.replace("cpu: 1", "cpu: 0"), "openenv.yaml:4: validation.resources.cpu must be above 0, and is 0."],
    [
      VALIDATION.replace("reward_channel", "script"),
      "openenv.yaml:6: validation.capabilities.verifier must be with entry",
    ],
    [VALIDATION.replace("[game]", "[]"), "openenv.yaml:7: validation.types.tags must be at least 1 entries long"],
    [
      `${VALIDATION}  judge: { model: a, version: b }\n`,
      "openenv.yaml:3: validation must be with a judge exactly where",
    ],
    ...["dockerfile: ../Dockerfile", "context: https://example.org/x.git", "probe_path: /etc/hostname"].map((field) => [
      `${VALIDATION}  execution: { ${field} }\n`,
      `openenv.yaml:8: validation.execution.${field.split(":")[0]} must be a path in this folder`,
    ]),
  ])("%j", (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });

  test("each problem has its own line", () => {
    expect(problemOf("port: x\nvariables: 3\n").split("\n")).toHaveLength(3);
  });

  test("aliases that multiply are refused", () => {
    const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i}, `.repeat(9)}*l${i}]`);
    expect(problemOf(`name: my_env\nl0: &l0 [x, x, x, x]\n${levels.join("\n")}\n`)).toContain("write it out instead");
  });

  test("a file of a megabyte is refused", () => {
    expect(problemOf(`name: my_env # ${"x".repeat(1_000_000)}`)).toContain("is too long");
  });
});

test("a folder without a manifest is told so where one is needed", async () => {
  const dir = await mkdtemp(join(tmpdir(), "openenv-manifest-"));
  try {
    expect(await findManifest(dir)).toBeUndefined();
    await expect(readManifest(dir)).rejects.toThrow(/There is no openenv\.yaml in .*; name the folder/);
    await writeFile(join(dir, "openenv.yaml"), "name: [\n");
    await expect(readManifest(dir)).rejects.toThrow(/openenv\.yaml:\d+: .*; mend the YAML/);
    expect(await readdir(dir)).toEqual(["openenv.yaml"]);
  } finally {
    await rm(dir, { recursive: true });
  }
});
