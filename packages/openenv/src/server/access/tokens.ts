import { readFileSync } from "node:fs";
import { ConfigError } from "../../errors.js";
import type { Variables } from "../config/read-settings.js";
import { TOKENS, type TokenName } from "../config/settings.js";

export type Tokens = { readonly [K in TokenName]: string | undefined };

/**
 * Reads each token from its option, else its variable, else its file. No message contains a token.
 * @throws ConfigError for an empty option, a variable next to its file, or a file that is empty or cannot be read.
 */
export function readTokens(options: Partial<Tokens>, variables: Variables): Tokens {
  const read = (name: TokenName): string | undefined => {
    const { variable } = TOKENS[name];
    const option = options[name];
    if (option !== undefined) {
      if (typeof option === "string" && option.trim() !== "") return option;
      throw new ConfigError(`${name} (${variable}) must be a non-empty string.`);
    }
    const value = variables[variable]?.trim() || undefined;
    const path = variables[`${variable}_FILE`]?.trim() || undefined;
    if (path === undefined) return value;
    if (value === undefined) return readSecret(`${variable}_FILE`, path);
    throw new ConfigError(`${variable} and ${variable}_FILE are both set: remove one of them.`);
  };
  return {
    clientToken: read("clientToken"),
    operatorToken: read("operatorToken"),
    orchestratorToken: read("orchestratorToken"),
  };
}

/** Editors end a file with a newline, which is not part of the secret. */
function readSecret(variable: string, path: string): string {
  let secret: string;
  try {
    secret = readFileSync(path, "utf8").trim();
  } catch (error) {
    const reason = (error as Error).message;
    throw new ConfigError(`${variable} must name a readable file: ${reason}`, { cause: error });
  }
  if (secret === "")
    throw new ConfigError(`${variable} names the file "${path}", which is empty: write the token to it.`);
  return secret;
}
