import { readFileSync } from "node:fs";
import { ConfigError } from "../../errors.js";

/**
 * The value of a variable, or of the file that the variable with `_FILE` names. No message contains the value.
 * @throws ConfigError if both are set, or the file is empty or cannot be read.
 */
export function readVariableOrFile(
  variable: string,
  variables: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const value = variables[variable]?.trim() || undefined;
  const path = variables[`${variable}_FILE`]?.trim() || undefined;
  if (path === undefined) return value;
  if (value === undefined) return readSecret(`${variable}_FILE`, path);
  throw new ConfigError(`${variable} and ${variable}_FILE are both set: remove one of them.`);
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
  if (secret !== "") return secret;
  throw new ConfigError(`${variable} names the file "${path}", which is empty: write the value to it.`);
}
