import { ConfigError } from "../../errors.js";
import { readVariableOrFile } from "../config/read-secret.js";
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
    return readVariableOrFile(variable, variables);
  };
  return {
    clientToken: read("clientToken"),
    operatorToken: read("operatorToken"),
    orchestratorToken: read("orchestratorToken"),
  };
}
