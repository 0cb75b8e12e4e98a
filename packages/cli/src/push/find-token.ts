import { hubEndpoint, hubTokenFile, readHubToken } from "@openenv-ts/providers/internal";
import { ConfigError } from "openenv-ts/internal";
import { isInteractive, printNote } from "../terminal/output.js";

/**
 * The user's token for the Hub: `HF_TOKEN`, else that of a login, else what is typed on a terminal.
 * @throws ConfigError when there is none, or it is no token; the message does not show it.
 */
export async function findToken({ canAsk }: { canAsk: boolean }): Promise<string> {
  const token = readHubToken() ?? (canAsk && isInteractive() ? await askToken() : undefined);
  if (token === undefined) {
    throw new ConfigError(
      `No token for the Hub: set HF_TOKEN, or log in with \`hf auth login\` (which writes ${hubTokenFile()}). ` +
        `Make one that may write at ${hubEndpoint()}/settings/tokens`,
    );
  }
  const problem = findProblem(token);
  if (problem !== undefined) throw new ConfigError(`HF_TOKEN or the login is no token of the Hub: ${problem}`);
  return token;
}

async function askToken(): Promise<string | undefined> {
  const { isCancel, password } = await import("@clack/prompts");
  printNote("No token for the Hub: HF_TOKEN is not set, and nobody is logged in.");
  const message = `Token that may write (${hubEndpoint()}/settings/tokens)`;
  const answer = await password({ message, validate: (text) => findProblem(text ?? "") });
  return isCancel(answer) ? undefined : answer;
}

function findProblem(token: string): string | undefined {
  return /^hf_\w+$/.test(token) ? undefined : "it begins with hf_ and has letters and digits.";
}
