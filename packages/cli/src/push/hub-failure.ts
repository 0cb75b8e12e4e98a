import { hubEndpoint } from "@openenv-ts/providers/internal";
import { OpenEnvError } from "openenv-ts/client";

/** The Hub rejected a request, or the connection failed. `status` is the HTTP status, undefined without a response. */
class HubError extends OpenEnvError {
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, cause: unknown) {
    super("HUB_FAILED", message, { cause });
    this.status = status;
  }
}

export type RepositoryKind = "space" | "dataset";

export interface FailedHubRequest {
  /** The failed operation: `create the Space owner/name`. */
  doing: string;
  /** ID of the repository. */
  id: string;
  kind: RepositoryKind;
  /** Never shown. */
  secrets: readonly string[];
}

/** Describes a failed request to the Hub, with a remedy. The message never contains the token or another secret. */
export function explainFailure(error: unknown, request: FailedHubRequest): OpenEnvError {
  if (error instanceof OpenEnvError) return error;
  const { statusCode: status, message } = error as { statusCode?: number; message?: string };
  const reason = hide(String(message ?? error).split(/\. URL:|\n/, 1)[0] ?? "", request.secrets).slice(0, MAX_REASON);
  if (status !== undefined) {
    return new HubError(
      `Cannot ${request.doing}: ${explainStatus(status, request)} (${status}: ${reason})`,
      status,
      error,
    );
  }
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  const why = cause?.code ?? cause?.message ?? reason;
  return new HubError(
    `Cannot ${request.doing}: the connection to ${hubEndpoint()} failed (${why}). Check the network and ` +
      "HF_ENDPOINT, then run the command again; a commit is atomic.",
    undefined,
    error,
  );
}

const MAX_REASON = 200;

function explainStatus(status: number, { id, kind }: FailedHubRequest): string {
  const owner = id.split("/")[0] ?? "";
  const isSpace = kind === "space";
  switch (status) {
    case 400:
      return "the Hub rejected the request. Fix what its message names";
    case 401:
      return "the token is not valid. Log in with `hf auth login`, or set HF_TOKEN to a valid token";
    case 402:
      return `payment required. Add a payment method at ${hubEndpoint()}/settings/billing, or choose free hardware`;
    case 403:
      return `the token has no write access. Use a token with write access to ${owner}${isSpace ? ", or --create-pr" : ""}`;
    case 404:
      return isSpace
        ? `the Space ${id} does not exist, or the token has no access to it. Check its name, or push without --create-pr to create it`
        : `the data set ${id} does not exist, or the token has no access to it. Check its name`;
    case 409:
      return `the name is taken, or it is being changed. Try again, or choose another name${isSpace ? " with -r" : ""}`;
    case 412:
      return "it was changed at the same time. Run the command again";
    case 413:
      return `the files are too large. ${isSpace ? "Move data to a dataset of the Hub" : "Collect fewer episodes in a file"}`;
    case 429:
      return "rate limit exceeded. Wait some minutes and run the command again";
    default:
      return status >= 500
        ? "the Hub has an internal error. See https://status.huggingface.co, and run the command again later"
        : "the Hub rejected the request";
  }
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.filter(Boolean).reduce((shown, secret) => shown.replaceAll(secret, "<secret>"), text);
}
