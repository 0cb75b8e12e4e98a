import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hubEndpoint } from "@openenv-ts/providers/internal";
import { isObject } from "openenv-ts/internal";
import { explainFailure } from "./hub-failure.js";
import type { StagedSpace } from "./stage-space.js";

/** One Space, as its owner changes it. Every method throws HubError. */
export interface HubSpace {
  /** Creates it as a Docker Space; false when it was there. */
  create(visibility: { private: boolean }): Promise<boolean>;
  setVariable(key: string, value: string): Promise<void>;
  setSecret(key: string, value: string): Promise<void>;
  requestHardware(flavor: string): Promise<void>;
  /** Commits all files at once, or opens a pull request with them, whose address it returns. */
  upload(staged: StagedSpace, options: UploadOptions): Promise<string | undefined>;
}

export interface UploadOptions {
  asPullRequest: boolean;
  /** Told in one line how far it is. */
  onProgress(line: string): void;
}

export interface HubLogin {
  token: string;
  signal: AbortSignal;
}

/** Who the token belongs to. @throws HubError when it is not valid. */
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

  /** The library has no call for the settings of a Space. */
  async function set(what: string, body: object): Promise<void> {
    const answer = await fetch(`${hubEndpoint()}/api/spaces/${id}/${what}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    if (answer.ok) return void (await answer.arrayBuffer());
    const { HubApiError } = await import("@huggingface/hub");
    throw new HubApiError(answer.url, answer.status, undefined, await readReason(answer));
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
  preuploading: "asking the Hub what it needs",
  uploadingLargeFiles: "uploading large files",
  committing: "uploading and committing",
} as const;

async function readReason(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const body: unknown = JSON.parse(text);
    if (isObject(body)) return String(body["error"] ?? body["message"] ?? answer.statusText);
  } catch {
    // A page of a proxy.
  }
  return answer.statusText;
}

function withSignal(signal: AbortSignal): typeof fetch {
  return (url, init) => fetch(url, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal });
}
