import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hubEndpoint } from "@openenv-ts/providers/internal";
import { isObject } from "openenv-ts/internal";
import { explainFailure } from "./hub-failure.js";
import type { StagedSpace } from "./stage-space.js";

/** Changes one Space. Every method throws HubError. */
export interface HubSpace {
  /** Creates it as a Docker Space; returns false when it exists. */
  create(visibility: { private: boolean }): Promise<boolean>;
  setVariable(key: string, value: string): Promise<void>;
  setSecret(key: string, value: string): Promise<void>;
  requestHardware(flavor: string): Promise<void>;
  /** Commits all files in one commit, or opens a pull request with them and returns its URL. */
  upload(staged: StagedSpace, options: UploadOptions): Promise<string | undefined>;
}

export interface UploadOptions {
  asPullRequest: boolean;
  /** Called with one line about the progress. */
  onProgress(line: string): void;
}

export interface HubLogin {
  token: string;
  signal: AbortSignal;
}

/** Returns the name of the token's owner. @throws HubError when the token is not valid. */
export async function readLogin({ token, signal }: HubLogin): Promise<string> {
  const { whoAmI } = await import("@huggingface/hub");
  try {
    const { name } = await whoAmI({ accessToken: token, hubUrl: hubEndpoint(), fetch: withSignal(signal) });
    return name;
  } catch (error) {
    signal.throwIfAborted();
    throw explainFailure(error, { doing: "log in to the Hub", id: "", secrets: [token] });
  }
}

export function createHubSpace(id: string, { token, signal }: HubLogin): HubSpace {
  const repo = { type: "space", name: id } as const;
  const access = { accessToken: token, hubUrl: hubEndpoint(), fetch: withSignal(signal), repo };

  async function attempt<T>(doing: string, work: () => Promise<T>, secrets: string[] = []): Promise<T> {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw explainFailure(error, { doing, id, secrets: [token, ...secrets] });
    }
  }

  /** Uses the HTTP API, because the library has no function for the settings of a Space. */
  async function set(what: string, body: object): Promise<void> {
    const response = await fetch(`${hubEndpoint()}/api/spaces/${id}/${what}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    if (response.ok) return void (await response.arrayBuffer());
    const { HubApiError } = await import("@huggingface/hub");
    throw new HubApiError(response.url, response.status, undefined, await readReason(response));
  }

  return {
    create: (visibility) =>
      attempt(`create the Space ${id}`, async () => {
        const { createRepo } = await import("@huggingface/hub");
        try {
          await createRepo({ ...access, sdk: "docker", ...(visibility.private && { visibility: "private" }) });
          return true;
        } catch (error) {
          if ((error as { statusCode?: number }).statusCode !== 409) throw error;
          return false;
        }
      }),
    setVariable: (key, value) => attempt(`set the variable ${key}`, () => set("variables", { key, value })),
    setSecret: (key, value) => attempt(`set the secret ${key}`, () => set("secrets", { key, value }), [value]),
    requestHardware: (flavor) => attempt(`get the hardware ${flavor}`, () => set("hardware", { flavor })),
    upload: (staged, { asPullRequest, onProgress }) =>
      attempt(`upload to the Space ${id}`, async () => {
        const { uploadFilesWithProgress } = await import("@huggingface/hub");
        const upload = uploadFilesWithProgress({
          ...access,
          files: staged.paths.map((path) => ({ path, content: pathToFileURL(join(staged.dir, path)) })),
          commitTitle: "Publish with openenv push",
          isPullRequest: asPullRequest,
          abortSignal: signal,
        });
        for (;;) {
          const { done, value } = await upload.next();
          if (done) return value?.pullRequestUrl;
          if (value.event === "phase") onProgress(PHASES[value.phase]);
          else onProgress(`${value.state} ${value.path}: ${Math.round(value.progress * 100)} %`);
        }
      }),
  };
}

const PHASES = {
  preuploading: "preparing the upload",
  uploadingLargeFiles: "uploading large files",
  committing: "uploading and committing",
} as const;

async function readReason(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const body: unknown = JSON.parse(text);
    if (isObject(body)) return String(body["error"] ?? body["message"] ?? response.statusText);
  } catch {
    // Not JSON: an error page of a proxy.
  }
  return response.statusText;
}

function withSignal(signal: AbortSignal): typeof fetch {
  return (url, init) => fetch(url, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal });
}
