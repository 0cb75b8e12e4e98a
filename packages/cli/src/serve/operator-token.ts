import { randomBytes } from "node:crypto";
import { printsToTerminal } from "../terminal/output.js";

const NAME = "OPENENV_OPERATOR_TOKEN";

/**
 * On a terminal, makes the operator's token of a server that has none, and returns it to be printed. All processes of the
 * server have it from the environment: workers, and those that replace them or that a change of the source restarts.
 */
export function makeOperatorToken(): string | undefined {
  if (!printsToTerminal() || [NAME, `${NAME}_FILE`].some((name) => process.env[name]?.trim())) return undefined;
  const token = randomBytes(24).toString("base64url");
  process.env[NAME] = token;
  return token;
}
