import { randomBytes } from "node:crypto";
import { printsToTerminal } from "../terminal/output.js";

const NAME = "OPENENV_OPERATOR_TOKEN";

/**
 * On a terminal, generates the operator token of a server without one, sets it in the environment and returns it. All
 * processes of the server inherit it: workers, their replacements, and processes that restart after a source change.
 */
export function makeOperatorToken(): string | undefined {
  if (!printsToTerminal() || [NAME, `${NAME}_FILE`].some((name) => process.env[name]?.trim())) return undefined;
  const token = randomBytes(24).toString("base64url");
  process.env[NAME] = token;
  return token;
}
