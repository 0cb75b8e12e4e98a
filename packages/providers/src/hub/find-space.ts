import { ProviderError } from "openenv-ts";
import { isObject } from "openenv-ts/internal";
import { hubEndpoint } from "./hub-account.js";
import { explainHubError } from "./hub-error.js";
import { spaceSubdomain } from "./space-id.js";

/** What the Hub reports about a Space. */
export interface Space {
  readonly id: string;
  /** The commit of its `main` branch. */
  readonly sha: string;
  readonly private: boolean;
  /** `docker`, `gradio`, `static` … */
  readonly sdk: string;
  /** `RUNNING`, `SLEEPING`, `PAUSED`, `BUILDING` … */
  readonly stage: string;
  /** The error of a Space that failed. */
  readonly problem: string;
  /** The URL of the running Space. */
  readonly url: string;
}

export interface HubAccess {
  token: string | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Looks up a Space on the Hub.
 * @throws ProviderError SOURCE_NOT_FOUND when it is missing or not visible to the token, PROVIDER_UNAVAILABLE when the
 * Hub fails.
 */
export async function findSpace(id: string, { token, signal }: HubAccess): Promise<Space> {
  const { spaceInfo } = await import("@huggingface/hub");
  try {
    const found = await spaceInfo({
      name: id,
      hubUrl: hubEndpoint(),
      additionalFields: ["runtime", "sha", "subdomain"],
      fetch: (url, init) => fetch(url, { ...init, ...(signal && { signal }) }),
      ...(token && { accessToken: token }),
    });
    const runtime: unknown = found.runtime;
    const { stage, errorMessage } = isObject(runtime) ? runtime : {};
    return {
      id,
      sha: found.sha,
      private: found.private,
      sdk: found.sdk ?? "",
      stage: typeof stage === "string" ? stage : "",
      problem: typeof errorMessage === "string" ? errorMessage : "",
      url: findUrl(id, runtime),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw explainHubError(error, { what: `the Space ${id}`, token });
  }
}

/** @throws ProviderError SOURCE_NOT_FOUND when the Hub has no image of the Space. */
export function mustHaveImage({ id, sdk, stage }: Space): void {
  const page = `${hubEndpoint()}/spaces/${id}`;
  if (sdk !== "docker") {
    const message = `The Space ${id} uses ${sdk || "no SDK"}, not Docker, so it is not an environment.`;
    throw new ProviderError("SOURCE_NOT_FOUND", message);
  }
  if (!["BUILD_ERROR", "CONFIG_ERROR", "NO_APP_FILE", "BUILDING"].includes(stage)) return;
  const message = `The Space ${id} has no image yet (${stage}). See ${page}?logs=build, or set useDocker: false.`;
  throw new ProviderError("SOURCE_NOT_FOUND", message);
}

/** @throws ProviderError SPACE_NOT_RUNNING with advice, unless the Space is running. */
export function mustRun({ id, stage, problem }: Space): void {
  if (stage.startsWith("RUNNING")) return;
  const page = `${hubEndpoint()}/spaces/${id}`;
  const own = `or start it on your machine with fromHub("${id}")`;
  const reasons: Record<string, string> = {
    SLEEPING: `is asleep. Open ${page} to wake it, ${own}`,
    PAUSED: `is paused. Its owner can restart it at ${page}/settings, ${own}`,
    STOPPED: `is stopped. Its owner can restart it at ${page}/settings, ${own}`,
    APP_STARTING: "is starting. Try again in a minute",
    BUILDING: `is being built. Try again when ${page} shows it running`,
  };
  const other = `is not running (${stage || "no stage"}${problem && `: ${problem}`}). See its log at ${page}?logs=container`;
  throw new ProviderError("SPACE_NOT_RUNNING", `The Space ${id} ${reasons[stage] ?? other}.`);
}

/** The domain that the Hub reports as ready, else the default one. */
function findUrl(id: string, runtime: unknown): string {
  const domains = isObject(runtime) && Array.isArray(runtime["domains"]) ? (runtime["domains"] as unknown[]) : [];
  const ready = domains.filter(isObject).find(({ domain, stage }) => typeof domain === "string" && stage === "READY");
  // A Hub of the tests has no certificate, and neither have its Spaces.
  const { protocol } = new URL(hubEndpoint());
  return `${protocol}//${ready ? String(ready["domain"]) : `${spaceSubdomain(id)}.hf.space`}`;
}
