import { expect, test } from "vitest";
import { isSecretName } from "./secret-name.js";

test.each([
  "HF_TOKEN",
  "OPENENV_OPERATOR_TOKEN",
  "AWS_SECRET_ACCESS_KEY",
  "PRIVATE_KEY",
  "OPENAI_API_KEY",
  "OPENAI_APIKEY",
  "API_KEYS",
  "API_KEY_2",
  "KEY1",
  "DB_PASSWORD",
  "PGPASSWORD",
  "PASSWD",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "github_token",
  "API_TOKENS",
  "TOKENS",
  "OPENAIAPIKEY",
  "openaiApiKey",
  "awsSecretAccessKey",
  "SSHKEY",
  "ENCRYPTIONKEY",
])("%s is a secret", (name) => {
  expect(isSecretName(name)).toBe(true);
});

test.each([
  "TOKENIZERS_PARALLELISM",
  "MAX_TOKENS",
  "MAX_NEW_TOKENS",
  "MIN_TOKENS_PER_STEP",
  "TOKENIZER",
  "KEYBOARD",
  "MONKEY",
  "PASSWORDLESS",
  "PATH",
  "PUBLIC_KEY",
  "SORT_KEY",
  "PRIMARY_KEY",
])("%s is not a secret", (name) => {
  expect(isSecretName(name)).toBe(false);
});
