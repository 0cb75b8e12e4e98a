import { OpenEnvError, ProviderError } from "openenv-ts";
import { hubEndpoint } from "./hub-account.js";

interface HubQuery {
  /** What was requested: `the Space owner/name`. */
  what: string;
  /** The token that the request carried. */
  token: string | undefined;
}

/** Converts the error of a request to the Hub into a ProviderError with advice and without the token. */
export function explainHubError(error: unknown, { what, token }: HubQuery): OpenEnvError {
  if (error instanceof OpenEnvError) return error;
  const { statusCode: status, message = String(error) } = error as { statusCode?: number; message?: string };
  const [code, text] = status === undefined ? unreachable(error) : explainStatus(status, what, token !== undefined);
  const reason = status === undefined ? "" : ` (${status}: ${clean(message, token)})`;
  return new ProviderError(code, text + reason, { cause: error });
}

type Explained = ["SOURCE_NOT_FOUND" | "PROVIDER_UNAVAILABLE", string];

function explainStatus(status: number, what: string, withToken: boolean): Explained {
  const login = "Log in with `hf auth login`, or set HF_TOKEN to a token that may read it";
  switch (status) {
    case 401:
      return withToken
        ? ["PROVIDER_UNAVAILABLE", "The Hub rejected the token. Log in again, or set HF_TOKEN to a valid token"]
        : ["SOURCE_NOT_FOUND", `There is no ${strip(what)}, or it is private. Check its name. ${login}`];
    case 402:
      return ["PROVIDER_UNAVAILABLE", `The Hub requires a payment for ${what}. See the billing page of its owner`];
    case 403:
      return ["SOURCE_NOT_FOUND", `The token may not read ${what}. Ask its owner for access, or use another token`];
    case 404:
      return withToken
        ? ["SOURCE_NOT_FOUND", `There is no ${strip(what)}, or the token may not see it. Check its name and the token`]
        : ["SOURCE_NOT_FOUND", `There is no ${strip(what)}. Check its name`];
    case 409:
      return ["PROVIDER_UNAVAILABLE", `The Hub is changing ${what}. Try again`];
    case 429:
      return ["PROVIDER_UNAVAILABLE", "The rate limit of the Hub is reached. Wait a few minutes, or log in"];
    default:
      return ["PROVIDER_UNAVAILABLE", `The Hub could not answer for ${what}. Try again later`];
  }
}

function unreachable(error: unknown): Explained {
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const why = cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
  return [
    "PROVIDER_UNAVAILABLE",
    `The Hub at ${hubEndpoint()} cannot be reached, or the connection was lost (${why}). Check the network and HF_ENDPOINT.`,
  ];
}

function strip(what: string): string {
  return what.replace(/^the /, "");
}

const MAX_REASON = 200;

/** The Hub's message on one line. */
function clean(message: string, token: string | undefined): string {
  const line = message.split(/\. URL:|\n/, 1)[0] ?? "";
  return (token ? line.replaceAll(token, "<token>") : line).slice(0, MAX_REASON);
}
