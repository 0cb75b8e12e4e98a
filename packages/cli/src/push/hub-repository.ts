import { hubEndpoint } from "@openenv-ts/providers/internal";
import { explainFailure, type RepositoryKind } from "./hub-failure.js";

export interface HubLogin {
  token: string;
  signal: AbortSignal;
}

export interface UploadOptions {
  asPullRequest?: boolean;
  title: string;
  /** Called with one line about the progress. */
  onProgress(line: string): void;
}

/** A Space or a data set. Every method throws HubError. */
export interface HubRepository {
  /** Creates it; returns false when it exists. A Space is a Docker Space. */
  create(visibility: { private: boolean }): Promise<boolean>;
  has(path: string): Promise<boolean>;
  /** Commits all files in one commit, or opens a pull request with them and returns its URL. */
  upload(files: readonly { path: string; content: URL | Blob }[], options: UploadOptions): Promise<string | undefined>;
  /** Runs a request to the Hub; its error says what could not be done, without the token and these secrets. */
  attempt<T>(doing: string, work: () => Promise<T>, secrets?: string[]): Promise<T>;
}

/** Returns the name of the token's owner. @throws HubError when the token is not valid. */
export async function readLogin({ token, signal }: HubLogin): Promise<string> {
  const { whoAmI } = await import("@huggingface/hub");
  try {
    const { name } = await whoAmI({ accessToken: token, hubUrl: hubEndpoint(), fetch: withSignal(signal) });
    return name;
  } catch (error) {
    signal.throwIfAborted();
    throw explainFailure(error, { doing: "log in to the Hub", id: "", kind: "space", secrets: [token] });
  }
}

export function createHubRepository(kind: RepositoryKind, id: string, { token, signal }: HubLogin): HubRepository {
  const repo = { type: kind, name: id } as const;
  const access = { accessToken: token, hubUrl: hubEndpoint(), fetch: withSignal(signal), repo };
  const named = `${kind === "space" ? "Space" : "data set"} ${id}`;

  async function attempt<T>(doing: string, work: () => Promise<T>, secrets: string[] = []): Promise<T> {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw explainFailure(error, { doing, id, kind, secrets: [token, ...secrets] });
    }
  }

  return {
    attempt,
    create: ({ private: isPrivate }) =>
      attempt(`create the ${named}`, async () => {
        const { createRepo } = await import("@huggingface/hub");
        try {
          const visibility = isPrivate ? ({ visibility: "private" } as const) : {};
          await createRepo({ ...access, ...(kind === "space" && { sdk: "docker" }), ...visibility });
          return true;
        } catch (error) {
          if ((error as { statusCode?: number }).statusCode !== 409) throw error;
          return false;
        }
      }),
    has: (path) =>
      attempt(`read the ${named}`, async () => {
        const { fileExists } = await import("@huggingface/hub");
        return await fileExists({ ...access, path });
      }),
    upload: (files, { asPullRequest = false, title, onProgress }) =>
      attempt(`upload to the ${named}`, async () => {
        const { uploadFilesWithProgress } = await import("@huggingface/hub");
        const upload = uploadFilesWithProgress({
          ...access,
          files: [...files],
          commitTitle: title,
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

function withSignal(signal: AbortSignal): typeof fetch {
  return (url, init) => fetch(url, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal });
}
