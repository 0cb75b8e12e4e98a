import { hubEndpoint, hubTokenFile, readHubToken } from "@openenv-ts/providers/internal";
import { ConfigError } from "openenv-ts/internal";
import { isInteractive, printNote } from "../terminal/output.js";

/**
 * The user's token for the Hub: `HF_TOKEN`, else the token of a login, else the answer to a prompt on the terminal.
 * @throws ConfigError when there is no token or it is malformed; the message does not contain the token.
 */
export async function findToken({ canAsk }: { canAsk: boolean }): Promise<string> {
  const token = readHubToken() ?? (canAsk && isInteractive() ? await askToken() : undefined);
  if (token === undefined) {
    throw new ConfigError(
      `No token for the Hub: set HF_TOKEN, or log in with \`hf auth login\` (which writes ${hubTokenFile()}). ` +
        `Create a token with write access at ${hubEndpoint()}/settings/tokens`,
    );
  }
  const problem = findProblem(token);
  if (problem !== undefined)
    throw new ConfigError(`The token from HF_TOKEN or the login is not a valid Hub token: ${problem}`);
  return token;
}

async function askToken(): Promise<string | undefined> {
  const { isCancel, password } = await import("@clack/prompts");
  printNote("No token for the Hub: HF_TOKEN is not set, and there is no login.");
  const message = `Token with write access (${hubEndpoint()}/settings/tokens)`;
  const answer = await password({ message, validate: (text) => findProblem(text ?? "") });
  return isCancel(answer) ? undefined : answer;
}

function findProblem(token: string): string | undefined {
  return /^hf_\w+$/.test(token) ? undefined : "it must be hf_ followed by letters and digits.";
}
