import { hubEndpoint } from "@openenv-ts/providers/internal";
import { OpenEnvError } from "openenv-ts/internal";

/** The Hub refused a request, or broke it off. `status` is what it answered, undefined without an answer. */
class HubError extends OpenEnvError {
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, cause: unknown) {
    super("HUB_FAILED", message, { cause });
    this.status = status;
  }
}

export interface FailedHubRequest {
  /** What could not be done: `create the Space owner/name`. */
  doing: string;
  /** Of which Space. */
  id: string;
  /** Never shown. */
  secrets: readonly string[];
}

/** What failed at the Hub, with what to do next. Neither the token nor another secret is in it. */
export function explainFailure(error: unknown, request: FailedHubRequest): OpenEnvError {
  if (error instanceof OpenEnvError) return error;
  const { statusCode: status, message } = error as { statusCode?: number; message?: string };
  const said = hide(String(message ?? error).split(/\. URL:|\n/, 1)[0] ?? "", request.secrets).slice(0, MAX_REASON);
  if (status !== undefined) {
    return new HubError(
      `Cannot ${request.doing}: ${explainStatus(status, request)} (${status}: ${said})`,
      status,
      error,
    );
  }
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  const why = cause?.code ?? cause?.message ?? said;
  return new HubError(
    `Cannot ${request.doing}: the connection to ${hubEndpoint()} broke or was not made (${why}). Check the network and ` +
      "HF_ENDPOINT, then run the same command again; a commit arrives whole or not at all.",
    undefined,
    error,
  );
}

const MAX_REASON = 200;

function explainStatus(status: number, { id }: FailedHubRequest): string {
  const owner = id.split("/")[0] ?? "";
  switch (status) {
    case 400:
      return "the Hub does not accept what was sent. Mend what it names";
    case 401:
      return "the Hub does not know the token. Log in with `hf auth login`, or set HF_TOKEN to a valid one";
    case 402:
      return `the Hub wants a payment. Add a way to pay at ${hubEndpoint()}/settings/billing, or choose free hardware`;
    case 403:
      return `the token may not write there. Use a token with write access to ${owner}, or --create-pr`;
    case 404:
      return `there is no Space ${id}, or the token may not see it. Check its name, and push without --create-pr to create it`;
    case 409:
      return "the name is taken by something else, or it is being changed at this moment. Try again, or choose another with -r";
    case 412:
      return "somebody else has changed the Space in this moment. Run the same command again";
    case 413:
      return "the files are too large. Keep data in a dataset of the Hub";
    case 429:
      return "the Hub takes no more requests for now. Wait some minutes and run the same command again";
    default:
      return status >= 500
        ? "the Hub has a problem. See https://status.huggingface.co, and run the same command again later"
        : "the Hub refused it";
  }
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.filter(Boolean).reduce((shown, secret) => shown.replaceAll(secret, "<secret>"), text);
}
