import { loadSettings } from "openenv-ts/internal";
import { expect, test } from "vitest";
import { objectToVariable } from "./variable-policy.js";

test.each([
  "FACTOR",
  "TEXTARENA_ENV_ID",
  "SANDBOX_TIMEOUT",
  "MAX_OUTPUT_LENGTH",
  "PIPELINE_DEPTH",
  "JUDGE_URL",
  "NODES",
])("%s can be set: a variable of the environment", (name) => expect(objectToVariable(name)).toBeUndefined());

test.each(["MAX_CONCURRENT_ENVS", "SESSION_TIMEOUT", "ISOLATION", "WORKERS"])(
  "%s can be set: a setting of size or behavior",
  (name) => {
    expect(objectToVariable(name)).toBeUndefined();
  },
);

test.each([
  ...[
    "ALLOWED_ORIGINS",
    "ALLOWED_HOSTS",
    "HOST",
    "ENV_README_PATH",
    "LOG_LEVEL",
    "MAX_MESSAGE_BYTES",
    "MAX_MESSAGE_ITEMS",
    "SPACE_HOST",
  ],
  ...["OPENENV_SANDBOX_REQUIRE", "OPENENV_OPERATOR_TOKEN_FILE", "OPENENV_OF_TOMORROW", "HF_ENDPOINT"],
  ...["NODE_OPTIONS", "node_options", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "npm_config_registry"],
  ...["PATH", "Path", "HOME", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "GIT_SSH_COMMAND", "BASH_ENV"],
  ...["HTTP_PROXY", "https_proxy", "ALL_PROXY", "SSLKEYLOGFILE", "SSL_CERT_FILE", "DOCKER_HOST", "GLIBC_TUNABLES"],
])("%s cannot be set in a manifest", (name) => {
  expect(objectToVariable(name)).toMatch(/^cannot be set in a manifest|^looks like a secret/);
});

test("a manifest may set no setting but those whose row allows it, in any spelling", async () => {
  for (const { variable, inManifest, mayBeFile } of (await loadSettings()).listSettings()) {
    if (variable === undefined) continue;
    expect(objectToVariable(variable) === undefined, variable).toBe(inManifest ?? false);
    if (!inManifest) expect(objectToVariable(variable.toLowerCase()), variable).toBeDefined();
    if (mayBeFile) expect(objectToVariable(`${variable}_FILE`), variable).toBeDefined();
  }
});

test("a URL with a password is refused in any variable, and one without is not", () => {
  expect(objectToVariable("SEARCH_URL", "https://user:secret@index.example.org")).toMatch(/^is a URL with a password/);
  expect(objectToVariable("WORKERS", "redis://:secret@host")).toMatch(/^is a URL with a password/);
  expect(objectToVariable("SEARCH_URL", "https://index.example.org:8080/@me")).toBeUndefined();
});
